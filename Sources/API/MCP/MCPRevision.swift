internal import JSON

/// Revisions of the Model Context Protocol that `POST /mcp` speaks (modelcontextprotocol.io/specification).
enum MCPRevision {
    /// Each request says everything itself, in `_meta` and in header fields.
    static let modern = "2026-07-28"
    /// Those that begin with `initialize`, newest first.
    static let legacy = ["2025-11-25", "2025-06-18", "2025-03-26"]
    static let all = [modern] + legacy
    /// The only one with batches; later ones name their revision in a header field.
    static let withBatches = "2025-03-26"

    /// What a client that asks for a revision by `initialize` is given.
    static func agreed(on asked: String?) -> String {
        asked.flatMap { legacy.contains($0) ? $0 : nil } ?? legacy[0]
    }
}

/// Why a message is refused: an error of JSON-RPC, or one that the protocol adds.
struct MCPFault: Error, Sendable, Equatable {
    enum Code: Int, Sendable {
        case parseError = -32_700
        case invalidRequest = -32_600
        case methodNotFound = -32_601
        case invalidParams = -32_602
        case internalError = -32_603
        /// Header fields that lack or that say something else than the body.
        case headerMismatch = -32_020
        case unsupportedVersion = -32_022
        /// Of ours: a batch asks for more than the key may ask in a second.
        case tooManyRequests = -32_000

        /// The answer's status, where the message alone decides on it.
        var status: Int {
            switch self {
            case .parseError, .invalidRequest, .invalidParams, .headerMismatch, .unsupportedVersion: 400
            case .methodNotFound: 404
            case .tooManyRequests: 429
            case .internalError: 500
            }
        }
    }

    var code: Code
    /// One sentence, for programmers.
    var message: String
    var data: JSONValue?
    /// Of the request; nil: it could not be told.
    var id: JSONValue?

    init(_ code: Code, _ message: String, data: JSONValue? = nil, id: JSONValue? = nil) {
        self.code = code
        self.message = message
        self.data = data
        self.id = id
    }

    static func unsupported(_ version: String, id: JSONValue? = nil) -> MCPFault {
        MCPFault(
            .unsupportedVersion, "this revision of the protocol is not supported",
            data: [
                "supported": .array(MCPRevision.all.map { .string($0) }), "requested": .string(version),
            ], id: id)
    }
}
