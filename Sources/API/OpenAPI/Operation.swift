internal import JSON

/// What a route takes and gives.
struct Operation: Sendable {
    var summary: String
    var tag: String
    var query: [Field] = []
    var headers: [Field] = []
    var body: Form?
    /// JSON Schema of a body that is no form.
    var message: JSONValue?
    /// The answer when all went well.
    var status = 200
    /// nil: no body.
    var answer: JSONValue? = Schema.any
    var contentType = "application/json"
    /// Further answers by status, with their JSON Schema; nil: no body.
    var others: [Int: JSONValue?] = [:]
    /// Statuses of problems beside 401, 403, 422 and 429.
    var problems: [Int] = []
}
