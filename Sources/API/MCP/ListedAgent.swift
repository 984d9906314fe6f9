internal import JSON
internal import Realtime

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
    var questions: [Question] = []

    /// The agent that the configuration is.
    static let ofConfiguration = ListedAgent(slug: "default", name: "default")

    var json: JSONValue {
        [
            "slug": .string(slug), "name": .string(name), "purpose": .optional(purpose),
            "variables": .array(variables), "questions": .array(questions.map(Payloads.question)),
        ]
    }
}
