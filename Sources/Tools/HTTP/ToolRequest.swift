internal import Foundation
internal import JSON
internal import Net

/// The request that a tool's call is.
struct ToolRequest {
    /// Bytes of arguments as the model wrote them.
    static let argumentLimit = 64 << 10

    let request: HTTPClientRequest
    let body: [UInt8]

    /// The arguments that the model wrote, checked, with the schema's defaults.
    /// - Parameter fixed: names of arguments that are not the model's: what it wrote for them is dropped.
    /// - Throws: `invalidArguments`, with all that is wrong.
    static func arguments(_ text: String, _ schema: JSONValue, isClosed: Bool, fixed: Set<String> = [])
        throws(ToolFailure) -> [String: JSONValue]
    {
        let written = text.allSatisfy(\.isWhitespace) ? "{}" : text
        guard written.utf8.count <= argumentLimit else { throw .invalidArguments("the arguments are too long") }
        let value: JSONValue
        do throws(JSONValue.ParseError) { value = try JSONValue(parsing: Array(written.utf8)) } catch {
            throw .invalidArguments("the arguments are no valid JSON")
        }
        guard case .object(var members) = value else {
            throw .invalidArguments("the arguments must be a JSON object")
        }
        for name in fixed { members[name] = nil }
        let violations = ArgumentCheck.violations(of: .object(members), by: schema, isClosed: isClosed)
        guard violations.isEmpty else {
            throw .invalidArguments(
                violations.map { "\($0.pointer.tokens.isEmpty ? "the arguments" : "\($0.pointer)") \($0.message)" }
                    .joined(separator: "; "))
        }
        if case .object(let properties)? = schema["properties"] {
            for (name, schema) in properties where members[name] == nil { members[name] = schema["default"] }
        }
        return members
    }

    init(
        _ document: ToolDocument, _ values: ToolValues, _ secrets: ToolSecrets, _ addresses: ToolAddresses
    ) throws(ToolFailure) {
        var merged = values.arguments
        for (name, template) in document.fixed { merged[name] = template.filled(values) }

        var fields = document.query.sorted { $0.key < $1.key }.map { name, template in
            (name: name, value: template.filled { values.text($0) })
        }
        var headers: [(name: String, value: String)] = []
        var body: [UInt8]?
        switch document.body {
        case .none: fields += Self.fields(merged)
        case .json: body = JSONValue.object(merged).bytes
        case .form: body = Array(HTTPForm.encode(Self.fields(merged)).utf8)
        case .template(let template):
            guard case .object(var members) = template.filled(values) else {
                throw .notAvailable("the tool's body is no object")
            }
            for (name, value) in document.fixed { members[name] = value.filled(values) }
            body = JSONValue.object(members).bytes
        }
        if body != nil {
            headers.append(("content-type", document.body == .form ? HTTPForm.contentType : "application/json"))
        }
        headers.append(("accept", "application/json"))
        for (name, template) in document.headers.sorted(by: { $0.key < $1.key }) {
            headers.removeAll { $0.name == name.lowercased() }
            headers.append((name, try Self.header(template, values, secrets)))
        }
        let url: String
        do throws(URLTemplate.Refusal) { url = try document.url.filled(values, more: fields) } catch {
            switch error {
            case .missing(let name): throw .refused("there is no value for \(name)")
            case .leadsElsewhere(let name): throw .refused("the value of \(name) may not stand in a path")
            case .tooLong: throw .refused("the values are too long")
            }
        }
        // The settings may have changed since it was saved.
        guard addresses.problem(with: document.url.origin + "/") == nil else {
            throw .refused("the tool's address may not be asked")
        }
        var request = HTTPClientRequest(document.method, url, headers: headers, body: body)
        // The administrator's address is asked, never one that a redirection names.
        request.redirectLimit = 0
        self.request = request
        self.body = body ?? []
    }

    /// - Throws: `refused`, where a value is not fit for a header, or a secret is gone.
    static func header(_ template: Template, _ values: ToolValues, _ secrets: ToolSecrets) throws(ToolFailure)
        -> String
    {
        for name in template.secrets where secrets[name] == nil {
            throw .notAvailable("the tool is not set up: a secret is missing")
        }
        let value = template.filled { path in
            path.count == 2 && path[0] == "secrets" ? secrets[path[1]] : values.text(path)
        }
        guard HeaderValue.isFit(value) else { throw .refused("a value may not stand in a header") }
        return value
    }

    /// Arguments as fields of a form or a query: texts as they are, others as JSON, none where there is no value.
    private static func fields(_ arguments: [String: JSONValue]) -> [(name: String, value: String)] {
        arguments.sorted { $0.key < $1.key }.compactMap { name, value in
            ToolValues.text(value).map { (name, $0) }
        }
    }
}
