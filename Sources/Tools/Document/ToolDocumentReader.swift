public import JSON
internal import Net
internal import Problems
internal import Realtime

extension ToolDocument {
    /// Names that HTTP tools may not have: those of the dialogue's own tools, and of the built-in ones.
    public static let reserved: Set<String> = [
        DialogueTool.reportTaskState, DialogueTool.endCall, DialogueTool.sendDTMF, DialogueTool.transferToOperator,
        BuiltInTool.searchKnowledge.rawValue, BuiltInTool.scheduleCallback.rawValue, BuiltInTool.sendSMS.rawValue,
    ]

    /// - Parameters:
    ///   - json: the document, or a preset: `{"preset", "api_url", "headers"}`.
    ///   - addresses: where tools may be; nil: that is not checked, as it is when a tool is used.
    ///   - secrets: names that `{{secrets.NAME}}` may have; nil: they are not checked.
    /// - Throws: all that is wrong with it.
    public init(_ json: JSONValue, _ addresses: ToolAddresses?, secrets: Set<String>? = nil) throws(ToolIssues) {
        guard json.bytes.count <= Self.sizeLimit else {
            throw ToolIssues([ToolIssue(JSONPointer(), .tooLarge, ["limit": .number(Self.sizeLimit)])])
        }
        let json = try ToolPreset.expanded(json)
        var reader = ToolDocumentReader(addresses: addresses)
        let document = reader.read(json)
        if let document, let secrets {
            for (name, template) in document.headers.sorted(by: { $0.key < $1.key }) {
                for secret in template.secrets.sorted() where !secrets.contains(secret) {
                    reader.fail(
                        JSONPointer() / "request" / "headers" / name, .unknownSecret, ["name": .text(secret)])
                }
            }
        }
        guard let document, reader.issues.isEmpty else { throw ToolIssues(reader.issues) }
        self = document
    }
}

/// Reads a tool's document and notes everything that is wrong with it.
struct ToolDocumentReader {
    let addresses: ToolAddresses?
    var issues: [ToolIssue] = []

    private static let root = JSONPointer()
    /// Headers that the server sets itself.
    private static let ownHeaders: Set<String> = [
        "host", "content-length", "content-type", "transfer-encoding", "connection", "expect", "upgrade", "te",
        "trailer", "idempotency-key", "x-trunkline-call", "traceparent", "tracestate", "webhook-id",
        "webhook-timestamp", "webhook-signature", "proxy-authorization", "proxy-connection",
    ]

    init(addresses: ToolAddresses?) { self.addresses = addresses }

    mutating func fail(_ pointer: JSONPointer, _ code: ProblemCode, _ params: [String: Problem.Value] = [:]) {
        issues.append(ToolIssue(pointer, code, params))
    }

    /// nil: something is missing; `issues` says what.
    mutating func read(_ json: JSONValue) -> ToolDocument? {
        let known: Set<String> = [
            "name", "description", "parameters", "fixed", "request", "timeout_ms", "retries", "idempotent",
            "response", "speak", "confirm", "limit",
        ]
        guard let members = object(json, Self.root, known) else { return nil }
        let name = toolName(members["name"])
        let purpose = text(members["description"], Self.root / "description", ToolDocument.purposeLimit, true)
        var parameters = ToolSchema.empty
        if let schema = members["parameters"], schema != .null {
            do throws(ToolIssues) { parameters = try ToolSchema(schema, at: Self.root / "parameters") } catch {
                issues += error.issues
            }
        }
        var fixed: [String: JSONTemplate] = [:]
        for (key, value) in entries(members["fixed"], Self.root / "fixed") {
            fixed[key] = fixedValue(value, Self.root / "fixed" / key)
        }
        let isIdempotent = flag(members["idempotent"], Self.root / "idempotent")
        let request = request(members["request"])
        let retries = whole(members["retries"], Self.root / "retries", ToolDocument.retryRange, usual: 0)
        if retries > 0, let request, !isIdempotent, !ToolDocument.isRepeatable(request.method) {
            fail(Self.root / "retries", .retriesNotSafe)
        }
        let (into, tell) = response(members["response"])
        let speech = speech(members["speak"])
        let timeout = whole(members["timeout_ms"], Self.root / "timeout_ms", ToolDocument.timeoutRange, usual: 8_000)
        let needsConsent = flag(members["confirm"], Self.root / "confirm")
        let limit = whole(members["limit"], Self.root / "limit", ToolDocument.limitRange, usual: 10)
        guard issues.isEmpty, let name, let purpose, let request else { return nil }
        return ToolDocument(
            name: name, purpose: purpose, parameters: parameters, fixed: fixed, method: request.method,
            url: request.url, headers: request.headers, query: request.query, body: request.body,
            timeoutMs: timeout, retries: retries, isIdempotent: isIdempotent, into: into, tell: tell, speech: speech,
            needsConsent: needsConsent, limit: limit, json: json)
    }

    private mutating func toolName(_ value: JSONValue?) -> String? {
        let pointer = Self.root / "name"
        guard let value, value != .null else {
            fail(pointer, .required)
            return nil
        }
        guard case .string(let name) = value else {
            fail(pointer, .notText)
            return nil
        }
        if !ToolDocument.isName(name) {
            fail(pointer, .notToolName)
        } else if ToolDocument.reserved.contains(name) {
            fail(pointer, .reservedName)
        }
        return name
    }

    private mutating func fixedValue(_ value: JSONValue, _ pointer: JSONPointer) -> JSONTemplate? {
        switch value {
        case .string, .bool, .number: return JSONTemplate.read(value, for: .fixed, at: pointer, &issues)
        case .null, .array, .object:
            fail(pointer, .notScalar)
            return nil
        }
    }

    // MARK: The request

    private struct Request {
        var method: String
        var url: URLTemplate
        var headers: [String: Template]
        var query: [String: Template]
        var body: ToolDocument.Body
    }

    private mutating func request(_ value: JSONValue?) -> Request? {
        let pointer = Self.root / "request"
        guard let value, value != .null else {
            fail(pointer, .required)
            return nil
        }
        guard let members = object(value, pointer, ["method", "url", "headers", "query", "body"]) else { return nil }
        var method = "POST"
        if let given = members["method"], given != .null {
            if case .string(let name) = given, ToolDocument.methods.contains(name) {
                method = name
            } else {
                fail(pointer / "method", .notChoice, ["names": .words(ToolDocument.methods)])
            }
        }
        var url: URLTemplate?
        if let text = text(members["url"], pointer / "url", ToolAddresses.urlLimit, true) {
            url = URLTemplate.read(text, addresses, at: pointer / "url", &issues)
        }
        var query: [String: Template] = [:]
        for (name, value) in entries(members["query"], pointer / "query") {
            guard let text = text(value, pointer / "query" / name, ToolDocument.valueLimit, true) else { continue }
            query[name] = Template.read(text, for: .query, at: pointer / "query" / name, &issues)
        }
        let headers = headers(members["headers"], at: pointer / "headers")
        let body = body(members["body"], method, at: pointer / "body")
        return url.map { Request(method: method, url: $0, headers: headers, query: query, body: body) }
    }

    /// Headers with variables and secrets, of tools and of MCP servers.
    mutating func headers(_ value: JSONValue?, at pointer: JSONPointer) -> [String: Template] {
        var headers: [String: Template] = [:], seen: Set<String> = []
        for (name, value) in entries(value, pointer) {
            let place = pointer / name
            let isToken =
                !name.isEmpty && name.utf8.count <= 64
                && name.utf8.allSatisfy {
                    (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0)
                }
            if !isToken { fail(place, .notHeaderName) }
            let lower = name.lowercased()
            if Self.ownHeaders.contains(lower) || lower.hasPrefix("mcp-") { fail(place, .reservedName) }
            if !seen.insert(lower).inserted { fail(place, .givenTwice) }
            guard let text = text(value, place, ToolDocument.valueLimit, true) else { continue }
            if !HeaderValue.isFit(text) { fail(place, .notHeaderValue) }
            headers[name] = Template.read(text, for: .header, at: place, &issues)
        }
        return headers
    }

    private mutating func body(_ value: JSONValue?, _ method: String, at pointer: JSONPointer) -> ToolDocument.Body {
        let hasBody = !["GET", "DELETE"].contains(method)
        guard let value, value != .null else { return hasBody ? .json : .none }
        guard hasBody else {
            fail(pointer, .notBeside, ["fields": .words(["method " + method])])
            return .none
        }
        switch value {
        case "json": return .json
        case "form": return .form
        case .object:
            return JSONTemplate.read(value, for: .body, at: pointer, &issues).map { .template($0) } ?? .json
        case .string: fail(pointer, .notChoice, ["names": .words(["json", "form"])])
        default: fail(pointer, .notTextOrObject)
        }
        return .json
    }

    // MARK: The answer, and what is said meanwhile

    private mutating func response(_ value: JSONValue?) -> (into: [String: JSONPointer], tell: JSONPointer?) {
        let place = Self.root / "response"
        guard let value, value != .null, let members = object(value, place, ["into", "tell"]) else { return ([:], nil) }
        var into: [String: JSONPointer] = [:]
        for (name, value) in entries(members["into"], place / "into") {
            if !ToolDocument.isName(name) { fail(place / "into" / name, .notToolName) }
            if value == .null { fail(place / "into" / name, .notText) }
            into[name] = pointer(value, place / "into" / name)
        }
        return (into, members["tell"].flatMap { pointer($0, place / "tell") })
    }

    private mutating func pointer(_ value: JSONValue, _ place: JSONPointer) -> JSONPointer? {
        guard value != .null else { return nil }
        guard case .string(let text) = value else {
            fail(place, .notText)
            return nil
        }
        let pointer = JSONPointer(text)
        if pointer == nil { fail(place, .notPointer) }
        return pointer
    }

    private mutating func speech(_ value: JSONValue?) -> ToolDocument.Speech? {
        let place = Self.root / "speak"
        guard let value, value != .null,
            let members = object(value, place, ["before", "after_ms", "texts", "every_ms"])
        else { return nil }
        let before = spoken(members["before"], place / "before")
        var texts: [Template] = []
        switch members["texts"] {
        case nil, .null?: break
        case .array(let items)?:
            if items.count > ToolDocument.spokenCount {
                fail(place / "texts", .tooManyItems, ["limit": .number(ToolDocument.spokenCount)])
            }
            for (index, item) in items.enumerated() {
                if item == .null { fail(place / "texts" / index, .notText) }
                if let text = spoken(item, place / "texts" / index) { texts.append(text) }
            }
        default: fail(place / "texts", .notArray)
        }
        return ToolDocument.Speech(
            before: before, texts: texts,
            afterMs: whole(members["after_ms"], place / "after_ms", ToolDocument.waitRange, usual: 1_500),
            everyMs: whole(members["every_ms"], place / "every_ms", ToolDocument.repeatRange, usual: 6_000))
    }

    private mutating func spoken(_ value: JSONValue?, _ place: JSONPointer) -> Template? {
        guard let text = text(value, place, ToolDocument.spokenLimit, false) else { return nil }
        return Template.read(text, for: .spoken, at: place, &issues)
    }
}
