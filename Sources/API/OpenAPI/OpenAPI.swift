internal import JSON

/// `/openapi.json`: every route of the API (OpenAPI 3.1), and `/docs`, a page that shows it.
///
/// What routes take and give stands in the tables beside this file; a test walks them and the router in both
/// directions.
enum OpenAPI {
    static let operations: [String: Operation] = [
        server, outbound, inbound, kept, companies, agents, tools, mcp,
    ].reduce(into: [:]) {
        all, some in
        all.merge(some) { first, _ in first }
    }

    /// Bodies of requests, each once.
    static let forms: [Form] = Dictionary(
        operations.values.compactMap(\.body).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }
    ).values.sorted { $0.name < $1.name }

    static let components = answers.merging(forms.map { ($0.name, $0.schema()) }) { answer, _ in answer }

    /// Not of the API: called by providers, who have their own documents.
    static let undocumented = Routes.carriers.map { $0.prefix } + ["/web/", "/favicon.ico"]
    /// Pages of the dashboard.
    static let pages: Set<String> = [
        "/", "/outbound", "/outbound/new", "/outbound/{id}", "/inbound", "/inbound/{id}", "/agents", "/agents/{slug}",
        "/new-agent", "/templates", "/operators",
        "/settings", "/settings/{page}",
        "/login",
    ]
    static let open: Set<String> = ["GET /health", "GET /ready", "POST /api/session"]

    static let document: JSONValue = {
        var paths: [String: JSONValue] = [:]
        for (key, operation) in operations {
            let words = key.split(separator: " ").map(String.init)
            // Lists end with a slash, as the contract writes them; both ways work.
            var path: [String: JSONValue] = if case .object(let known)? = paths[words[1]] { known } else { [:] }
            path[words[0].lowercased()] = describe(operation, path: words[1], isOpen: open.contains(key))
            paths[words[1]] = .object(path)
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Trunkline", "version": "1",
                "description": "Places phone calls, lets an AI hold them, and tells what came of them.",
            ],
            "servers": [["url": "/"]], "paths": .object(paths),
            "components": [
                "schemas": .object(components),
                "securitySchemes": [
                    "key": ["type": "http", "scheme": "bearer"],
                    "session": ["type": "apiKey", "in": "cookie", "name": .string(Authenticator.cookie)],
                ],
            ], "security": [["key": []], ["session": []]],
        ]
    }()

    private static func describe(_ operation: Operation, path: String, isOpen: Bool) -> JSONValue {
        var parameters: [JSONValue] = []
        for part in path.split(separator: "/") where part.hasPrefix("{") {
            parameters.append([
                "name": .string(String(part.dropFirst().dropLast())), "in": "path", "required": true,
                "schema": Schema.text(256),
            ])
        }
        for (place, items) in [("query", operation.query), ("header", operation.headers)] {
            parameters += items.map {
                [
                    "name": .string($0.name), "in": .string(place), "schema": $0.parameterSchema,
                    "description": .string($0.help),
                ]
            }
        }
        var responses: [String: JSONValue] = [:]
        let good = String(operation.status)
        if let answer = operation.answer {
            let schema = operation.contentType == "application/json" ? answer : Schema.text
            responses[good] = ["description": "done", "content": .object([operation.contentType: ["schema": schema]])]
        } else {
            responses[good] = ["description": "done"]
        }
        if let idle = operation.idleStatus { responses[String(idle)] = responses[good] }
        if operation.contentType == "audio/wav" { responses["206"] = responses[good] }
        for (status, schema) in operation.others {
            var response: [String: JSONValue] = ["description": status < 400 ? "taken" : "what is wrong"]
            if let schema { response["content"] = ["application/json": ["schema": schema]] }
            responses[String(status)] = .object(response)
        }
        // 422: a query parameter that the route does not know.
        for status in operation.problems + (isOpen ? [401, 429] : [401, 403, 422, 429]) {
            responses[String(status)] = [
                "description": "what is wrong",
                "content": ["application/problem+json": ["schema": Schema.reference("Problem")]],
            ]
        }
        var description: [String: JSONValue] = [
            "summary": .string(operation.summary), "tags": [.string(operation.tag)], "parameters": .array(parameters),
            "responses": .object(responses),
        ]
        if let schema = operation.body.map({ Schema.reference($0.name) }) ?? operation.message {
            description["requestBody"] = ["required": true, "content": ["application/json": ["schema": schema]]]
        }
        if let document = operation.document {
            description["requestBody"] = [
                "required": true,
                "content": .object(
                    ["application/json": ["schema": document], AgentRequests.yaml: ["schema": document]]),
            ]
        }
        if isOpen { description["security"] = [] }
        return .object(description)
    }
}
