internal import JSON
internal import Realtime

/// `search_knowledge {query}`: the pieces of the knowledge that fit best.
enum SearchKnowledge {
    /// Characters of a query.
    private static let queryLimit = 500

    static let schema: JSONValue = [
        "type": "object",
        "properties": [
            "query": [
                "type": "string", "minLength": 1, "maxLength": .whole(queryLimit),
                "description": "what is to be known, in a few words",
            ]
        ],
        "required": ["query"],
    ]
    static let tool = CallTool(
        name: BuiltInTool.searchKnowledge.rawValue,
        purpose: "Searches the documents and answers that this agent may tell. Call it when you do not know something.",
        parameters: schema.text)

    static func run(_ arguments: [String: JSONValue], _ means: ToolMeans) async throws -> JSONValue {
        guard let search = means.search, case .string(let query)? = arguments["query"] else {
            throw ToolFailure.notAvailable("there is no knowledge")
        }
        return [
            "found": .array(
                await search(query).map {
                    ["source": .string($0.source), "text": .string($0.answer ?? $0.text)]
                })
        ]
    }
}
