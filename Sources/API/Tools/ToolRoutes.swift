internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Realtime
internal import Store
internal import Tools

/// `/api/tools`: HTTP requests that models may make in a call.
struct ToolRoutes: Sendable {
    static let ifMatch = Field(
        "If-Match", .text(Field.Kind.wordLimit), "the ETag of what is replaced; else the last writer wins")

    let services: Routes.Services

    /// - Throws: this server has no tools.
    static func catalog(_ services: Routes.Services) throws(APIError) -> ToolCatalog {
        guard let catalog = services.tools else { throw APIError.notFound(.noTools) }
        return catalog
    }

    private func catalog() throws(APIError) -> ToolCatalog { try Self.catalog(services) }

    private func name(_ request: HTTPRequest) -> String { request.parameters["name"] ?? "" }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(["items": .array(try await catalog().tools(principal.company).map { ToolPayloads.tool($0) })])
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Self.answer(try await catalog().tool(principal.company, name(request)))
    }

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let members = try FieldReader.members(of: request.body)
        let document = try await Self.checked { try await catalog().check(principal.company, .object(members)) }
        let stored = try await catalog().create(principal.company, document)
        await services.audit(principal, "tool.create", target: document.name)
        return Self.answer(stored, status: 201)
    }

    func replace(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let name = name(request), tools = try catalog()
        let known = try await tools.tool(principal.company, name)
        var members = try FieldReader.members(of: request.body)
        if members["preset"] == nil, members["name"] == nil { members["name"] = .string(name) }
        let body = JSONValue.object(members)
        let document = try await Self.checked { try await tools.check(principal.company, body) }
        guard document.name == name else { throw APIError.invalid("/name", .nameImmutable) }
        var expected: Int?
        if let tag = request.headers["if-match"], tag != "*" {
            guard tag == Self.tag(known.revision) else { throw Self.changed }
            expected = known.revision
        }
        let stored: StoredTool
        do throws(StoreError) {
            stored = try await tools.replace(principal.company, document, expected: expected)
        } catch { throw error.problem.code == .toolChangedMeanwhile ? Self.changed : APIError(error) }
        if stored.revision != known.revision { await services.audit(principal, "tool.change", target: name) }
        return Self.answer(stored, warnings: request.headers["if-match"] == nil ? [Problem(.replacedUnseen)] : [])
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        try await catalog().removeTool(principal.company, name(request))
        await services.audit(principal, "tool.delete", target: name(request))
        return HTTPResponse(status: 204)
    }

    /// `POST …/try` `{arguments, variables}`: calls it once, outside any call.
    func tryOut(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let fields = try FieldReader(request.body, ToolForms.trial)
        try fields.check()
        let values = ToolValues(
            callID: "try-" + ShortID.random(), direction: "outbound",
            variables: fields.values.free("variables") ?? [:], now: services.now())
        let arguments = JSONValue.object(fields.values.free("arguments") ?? [:]).text
        await services.audit(principal, "tool.try", target: String(name(request).prefix(100)))
        let begun = ContinuousClock.now
        let result = try await catalog().tryOut(
            principal.company, name(request), arguments: arguments, values: values)
        let passed = begun.duration(to: .now).components
        return Routes.json([
            "status": .string(result.status), "attempts": .whole(result.attempts),
            "output": (try? JSONValue(parsing: Array(result.output.utf8))) ?? .string(result.output),
            "ms": .number(
                Double(passed.seconds) * 1_000 + (Double(passed.attoseconds) / 1_000_000_000_000_000).rounded()),
        ])
    }

    // MARK: Answers

    private static let changed = APIError(412, "changed_meanwhile", .toolChangedMeanwhile)

    private static func tag(_ revision: Int) -> String { "\"\(revision)\"" }

    private static func answer(_ tool: StoredTool, status: Int = 200, warnings: [Problem] = []) -> HTTPResponse {
        var response = Routes.json(ToolPayloads.tool(tool, warnings: warnings), status: status)
        response.headers.append(("etag", tag(tool.revision)))
        if status == 201 { response.headers.append(("location", "/api/tools/\(tool.document.name)")) }
        return response
    }

    /// Issues of a document as fields of a problem; each field is a JSON pointer.
    static func checked<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as ToolIssues {
            throw APIError.invalid(error.issues.map { .init(field: $0.pointer.description, problem: $0.problem) })
        }
    }
}
