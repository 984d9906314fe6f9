public import JSON
public import Realtime

/// A tool that an administrator describes: one HTTP request, its arguments, and what becomes of the answer.
public struct ToolDocument: Sendable, Equatable {
    public static let nameLimit = 40, purposeLimit = 1_000, spokenLimit = 200, spokenCount = 10
    public static let timeoutRange = 500...30_000, retryRange = 0...3, limitRange = 1...100
    public static let waitRange = 0...60_000, repeatRange = 1_000...60_000
    /// Fields of `fixed`, headers, fields of the query and of `response.into`; characters of a value of one.
    public static let memberLimit = 20, valueLimit = 2_000
    /// Bytes of a document.
    public static let sizeLimit = 64 << 10
    public static let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

    /// What the request's body is.
    public enum Body: Sendable, Equatable {
        /// None: the arguments are fields of the query.
        case none
        /// The arguments as a JSON object, or as a form.
        case json, form
        /// A JSON object of its own, into which `fixed` is merged.
        case template(JSONTemplate)
    }

    public var name: String
    public var purpose: String
    public var parameters: ToolSchema
    /// Arguments that the model neither sees nor sets; merged last.
    public var fixed: [String: JSONTemplate]
    public var method: String
    public var url: URLTemplate
    public var headers: [String: Template]
    public var query: [String: Template]
    public var body: Body
    /// For the whole call, retries included.
    public var timeoutMs: Int
    public var retries: Int
    /// A request may be sent again although its method alone does not allow that.
    public var isIdempotent: Bool
    /// What is kept of the answer, for `{{tools.NAME.KEY}}`.
    public var into: [String: JSONPointer]
    /// What the model is told of the answer; nil: `into`, or all of it.
    public var tell: JSONPointer?
    public var speech: Speech?
    public var needsConsent: Bool
    /// Calls of it in one call.
    public var limit: Int
    /// As it was sent, presets replaced by what they stand for.
    public var json: JSONValue

    /// What the other party hears while the tool works; texts may hold variables.
    public struct Speech: Sendable, Equatable {
        public var before: Template?
        public var texts: [Template]
        public var afterMs: Int
        public var everyMs: Int
    }

    /// `[a-z][a-z0-9_]{0,39}`
    public static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, (0x61...0x7A).contains(first), text.utf8.count <= nameLimit else {
            return false
        }
        return text.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }

    /// Methods that may be sent twice (RFC 9110 §9.2.2).
    static func isRepeatable(_ method: String) -> Bool { ["GET", "PUT", "DELETE"].contains(method) }

    private var places: [Template.Place] {
        var places = url.places + fixed.values.flatMap(\.places)
        places += headers.values.flatMap(\.places) + query.values.flatMap(\.places)
        if case .template(let template) = body { places += template.places }
        places += (speech?.texts ?? []).flatMap(\.places) + (speech?.before?.places ?? [])
        return places
    }

    /// Names of the secrets that it sends.
    public var secrets: Set<String> {
        Set(headers.values.flatMap(\.secrets))
    }

    /// Names of the variables that it wants, without words in their place or with them: the agent must declare them.
    public var variables: Set<String> {
        Set(
            places.compactMap { place in
                if place.path.count == 1 {
                    return ["now", "today", "weekday"].contains(place.path[0]) ? nil : place.path[0]
                }
                return place.path[0] == "variables" ? place.path[1] : nil
            })
    }

    /// As the model is told of it.
    public func tool(revision: Int, _ values: ToolValues) -> CallTool {
        CallTool(
            name: name, purpose: purpose, parameters: parameters.without(Set(fixed.keys)).json.text,
            revision: revision,
            speech: speech.map { speech in
                CallTool.WaitingSpeech(
                    before: speech.before?.filled { values.text($0) },
                    texts: speech.texts.map { $0.filled { values.text($0) } }, afterMs: speech.afterMs,
                    everyMs: speech.everyMs)
            }, needsConsent: needsConsent, limit: limit)
    }
}
