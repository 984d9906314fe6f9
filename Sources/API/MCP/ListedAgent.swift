internal import JSON

/// An agent as the tool `list_agents` tells of it.
struct ListedAgent: Sendable {
    /// What `place_call` names it by.
    var slug: String
    var name: String
    /// Why it calls; nil: each call says so.
    var purpose: String?
    /// What a call may pass to it, as the agent declares them: `name`, `required`, `default`, `example`.
    var variables: [JSONValue] = []
    /// What it finds out; none: each call says so.
    var questions: [JSONValue] = []

    /// The agent that the configuration is.
    static let ofConfiguration = ListedAgent(slug: "default", name: "default")

    /// An agent as its live version has it.
    init(_ slug: String, _ document: JSONValue) {
        self.init(slug: slug, name: slug)
        if case .string(let text)? = document["name"] { name = text }
        if case .string(let text)? = document["purpose"] { purpose = text }
        if case .array(let items)? = document["variables"] { variables = items }
        if case .array(let items)? = document["questions"] { questions = items }
    }

    init(slug: String, name: String) {
        self.slug = slug
        self.name = name
    }

    var json: JSONValue {
        [
            "slug": .string(slug), "name": .string(name), "purpose": .optional(purpose),
            "variables": .array(variables), "questions": .array(questions),
        ]
    }
}
