internal import Foundation

/// A webhook of Telnyx's Call Control (developers.telnyx.com/docs/voice/programmable-voice/voice-api-webhooks).
public struct TelnyxEvent: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// `call.initiated`.
        case begun(isIncoming: Bool)
        /// `call.answered`.
        case answered
        /// `call.hangup`.
        case ended
        /// `call.machine.detection.ended`, and the premium one: who answered.
        case recognised
        /// `call.speak.ended`.
        case spoken
        /// `streaming.failed`.
        case streamFailed
        /// One that means nothing to us, or a later version's.
        case other
    }
    public var kind: Kind
    /// The call control id.
    public var callID: String
    public var from: String?
    public var to: String?
    /// nil: it has none, or none of ours.
    public var state: TelnyxState?
    /// `normal_clearing`, `user_busy` …
    public var hangupCause: String?
    /// Of the trunk, where one is told.
    public var sipCode: Int?
    /// Who answered: `human`, `machine`, `not_sure`; or `human_residence`, `fax_detected` …
    public var result: String?

    /// A body that cannot be understood.
    public enum Malformed: Error, Sendable, Equatable {
        case notJSON
        /// The field is none.
        case notObject(String)
        case notText(String)
        case notCallID(String)
        case missing(String)
    }

    private struct Wire: Decodable {
        struct Event: Decodable {
            var type: String?
            var payload: Payload?
            enum CodingKeys: String, CodingKey {
                case type = "event_type"
                case payload
            }
        }
        struct Payload: Decodable {
            var callID: String?
            var direction, from, to, state, hangupCause, sipCause, result: LenientText?
            enum CodingKeys: String, CodingKey {
                case callID = "call_control_id"
                case direction, from, to, result
                case state = "client_state"
                case hangupCause = "hangup_cause"
                case sipCause = "sip_hangup_cause"
            }
        }
        var data: Event?
    }

    public init(_ body: [UInt8]) throws(Malformed) {
        let wire: Wire
        do { wire = try JSONDecoder().decode(Wire.self, from: Data(body)) } catch DecodingError.typeMismatch(
            let type, let context)
            where !context.codingPath.isEmpty
        {
            let field = context.codingPath.map(\.stringValue).joined(separator: ".")
            throw type == String.self ? .notText(field) : .notObject(field)
        } catch { throw .notJSON }
        guard let type = wire.data?.type else { throw .missing("data.event_type") }
        let payload = wire.data?.payload
        guard type.hasPrefix("call.") || type.hasPrefix("streaming.") else {
            self.init(.other, callID: "")
            return
        }
        guard let callID = payload?.callID else { throw .missing("data.payload.call_control_id") }
        guard TelnyxREST.isCallID(callID) else { throw .notCallID("data.payload.call_control_id") }
        let kind: Kind =
            switch type {
            case "call.initiated": .begun(isIncoming: payload?.direction?.text == "incoming")
            case "call.answered": .answered
            case "call.hangup": .ended
            case "call.machine.detection.ended", "call.machine.premium.detection.ended": .recognised
            case "call.speak.ended": .spoken
            case "streaming.failed": .streamFailed
            default: .other
            }
        self.init(kind, callID: callID)
        from = payload?.from?.text
        to = payload?.to?.text
        state = payload?.state?.text.flatMap { TelnyxState($0) }
        hangupCause = payload?.hangupCause?.text
        sipCode = payload?.sipCause?.number.flatMap { (100..<700).contains($0) ? $0 : nil }
        result = payload?.result?.text
    }

    init(_ kind: Kind, callID: String) {
        self.kind = kind
        self.callID = callID
    }
}
