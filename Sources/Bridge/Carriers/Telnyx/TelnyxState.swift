internal import Foundation

/// What a call is to us: our `client_state`, which Telnyx keeps with it and tells back, signed, with every event.
public enum TelnyxState: Sendable, Equatable {
    /// We had it placed; the id is that of our record.
    case placed(callID: String)
    /// It came in, and we have answered it.
    case arrived
    /// It rings an operator for a caller, whose call has this id. `language`: of the announcement to the caller if the
    /// operator does not answer.
    case transfer(of: String, language: String)
    /// The caller hears that no operator answers, and then the call ends.
    case farewell

    /// Characters of a state, in Base64.
    static let limit = 1_024

    /// Base64, as Telnyx wants it.
    public var text: String {
        let words =
            switch self {
            case .placed(let callID): "call \(callID)"
            case .arrived: "arrived"
            case .transfer(let caller, let language): "transfer \(caller) \(language)"
            case .farewell: "farewell"
            }
        return Data(words.utf8).base64EncodedString()
    }

    /// nil: it is none of ours.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.limit, let data = Data(base64Encoded: text) else { return nil }
        let words = String(decoding: data, as: UTF8.self).split(separator: " ").map(String.init)
        switch (words.first, words.count) {
        case ("call", 2): self = .placed(callID: words[1])
        case ("arrived", 1): self = .arrived
        case ("transfer", 3) where TelnyxREST.isCallID(words[1]): self = .transfer(of: words[1], language: words[2])
        case ("farewell", 1): self = .farewell
        default: return nil
        }
    }
}
