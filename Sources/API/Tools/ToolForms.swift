internal import JSON
internal import Problems
internal import Tools

/// Documents of tools and MCP servers, as `/openapi.json` describes them. The room `Tools` reads and checks them: what
/// they may hold depends on more than a form can say.
enum ToolForms {
    private static let headers = Field(
        "headers", .texts(count: ToolDocument.memberLimit, name: ToolSchema.nameLimit, value: ToolDocument.valueLimit),
        "may hold variables, and secrets as {{secrets.NAME}}")

    private static let request = Field(
        "request",
        .object([
            Field("method", .choice(ToolDocument.methods), default: "POST", "of the request"),
            Field(
                "url", .text(ToolAddresses.urlLimit), required: true,
                "https: address; places in segments of its path and in its query only"),
            headers,
            Field(
                "query",
                .texts(
                    count: ToolDocument.memberLimit, name: ToolSchema.nameLimit, value: ToolDocument.valueLimit),
                "more fields of the query"),
            Field("body", .textOrFree(.choice(["json", "form"])), "json, form, or an object with places"),
        ]), "what is sent; needed without a preset")

    private static let response = Field(
        "response",
        .object([
            Field("into", .free, "JSON pointers into the answer, kept for {{tools.NAME.KEY}}"),
            Field("tell", .text(JSONPointer.lengthLimit), "JSON pointer to what the model is told"),
        ]), "what becomes of the answer; else the model is told all of it")

    private static let speak = Field(
        "speak",
        .object([
            Field("before", .text(ToolDocument.spokenLimit), "said when the tool is called"),
            Field("after_ms", .integer(ToolDocument.waitRange), default: 1500, "until the first of texts, ms"),
            Field(
                "texts", .list(.text(ToolDocument.spokenLimit), count: 0...ToolDocument.spokenCount),
                "said one after the other while there is no answer"),
            Field("every_ms", .integer(ToolDocument.repeatRange), default: 6000, "from one text to the next, ms"),
        ]), "what the other party hears while the tool works")

    static let tool = Form(
        "NewTool",
        [
            Field("name", .text(ToolDocument.nameLimit), "small letters, digits and _; needed without a preset"),
            Field("preset", .choice(ToolPreset.allCases.map(\.rawValue)), "a tool made from api_url and headers alone"),
            Field("api_url", .text(ToolAddresses.urlLimit), "address of a preset"), headers,
            Field(
                "description", .text(ToolDocument.purposeLimit, .paragraph),
                "what the model is told it is for; needed without a preset"),
            Field("parameters", .free, "a subset of JSON Schema 2020-12"),
            Field("fixed", .free, "arguments that the model neither sees nor sets"), request,
            Field("timeout_ms", .integer(ToolDocument.timeoutRange), default: 8000, "in all, retries included, ms"),
            Field("retries", .integer(ToolDocument.retryRange), default: 0, "of requests that may be repeated"),
            Field("idempotent", .boolean, default: false, "the request may be repeated whatever its method"),
            response, speak, Field("confirm", .boolean, default: false, "the other party is asked before it is called"),
            Field("limit", .integer(ToolDocument.limitRange), default: 10, "calls of it in one call"),
        ])

    static let trial = Form(
        "ToolTrial",
        [
            Field("arguments", .free, "as a model would send them"), Field("variables", .free, "as a call would have"),
        ])

    static let secret = Form(
        "NewSecret",
        [
            Field("name", .text(ToolDocument.nameLimit), required: true, "small letters, digits and _"),
            Field("value", .secret(1...ToolCatalog.secretLimit), required: true, "never shown again"),
        ])

    private static let patterns = Field.Kind.list(.text(MCPName.modelLimit), count: 0...MCPServer.patternLimit)
    static let server = Form(
        "NewMCPServer",
        [
            Field("name", .text(ToolDocument.nameLimit), required: true, "small letters, digits and _"),
            Field("url", .text(ToolAddresses.urlLimit), required: true, "https: address of its streamable HTTP"),
            headers, Field("allow", patterns, default: ["*"], "tools that may be used; * stands for any characters"),
            Field("deny", patterns, "tools that may not"),
            Field("timeout_ms", .integer(MCPServer.timeoutRange), default: 8000, "of a list and of a call, ms"),
        ])

    static let accepted = Form(
        "AcceptedTool", [Field("tool", .text(128), required: true, "its name at the server")])
}
