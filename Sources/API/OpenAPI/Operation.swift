internal import JSON

/// What a route takes and gives.
struct Operation: Sendable {
    var summary: String
    var tag: String
    var query: [Field] = []
    var headers: [Field] = []
    var body: Form?
    /// Of a body that is no form; it may be YAML too.
    var document: JSONValue?
    /// The answer when all went well.
    var status = 200
    /// When there was nothing to do; nil: the same.
    var idleStatus: Int?
    /// nil: no body.
    var answer: JSONValue? = Schema.any
    var contentType = "application/json"
    /// Statuses of problems beside 401, 403, 422 and 429.
    var problems: [Int] = []
}
