internal import Foundation

/// What happens to a call, told to its owner in order.
public enum DialogEvent: Sendable, Equatable {
    /// 101–199; with SDP it tells where early media comes from.
    case progress(status: Int, sdp: String?)
    /// Final 2xx; the ACK has been sent. The SDP is that of a provisional answer where the 200 repeats none.
    case answered(sdp: String?)
    /// The ACK of a call that came in, or of a re-INVITE without an offer; with SDP it answers our offer (RFC 3264,
    /// late offer).
    case acknowledged(sdp: String?)
    /// Final 3xx–6xx, or a local failure (408 time-out, 503 unreachable, 904 credentials refused).
    /// A 3xx tells with `contact` where to call instead.
    case failed(status: Int, phrase: String, retryAfterSeconds: Int?, contact: String? = nil)
    /// re-INVITE: answer with `Dialog.answer` or `Dialog.reject`.
    case reoffer(sdp: String?)
    /// How the far end took our re-INVITE.
    case reanswered(sdp: String?)
    case reofferRefused(status: Int)
    /// The far end asks us to call another address in its place (REFER, accepted). Report with `Dialog.report`.
    case referralRequested(Referral)
    /// An authorised call takes the far end's place (INVITE with Replaces, RFC 3891): listen to it with
    /// `Dialog.listen`, answer or reject it, and hang up this dialog.
    case replaced(by: IncomingCall)
    /// The far end cancelled its INVITE before we answered.
    case cancelled
    /// How the far end's call to where we referred it goes: 100–199 on its way, 2xx there, else not (RFC 3515 §2.4.4).
    case referral(status: Int)
    /// BYE from the far end, or the dialog is gone.
    case ended(byRemote: Bool)
}

/// A request to call another address (REFER, RFC 3515).
public struct Referral: Sendable, Equatable {
    /// A SIP URI without headers.
    public var target: String
    /// Whose place is to be taken there: the value of a Replaces header (RFC 3891; attended transfer, RFC 5589 §7).
    public var replaces: String?
    /// `replaces` names a dialog of ours.
    public var replacesOurs = false
    /// Which of the far end's requests it is, for `Dialog.report`.
    public var reference: UInt32

    /// Bytes of a Replaces header that are taken.
    static let replacesLimit = 400

    /// - Parameter uri: of Refer-To, with its headers (RFC 3261 §19.1.1), escaped.
    public init(uri: String, reference: UInt32 = 0) {
        // By scalars: a combining mark behind "?" would make another character of it.
        let parts = uri.unicodeScalars.split(separator: "?", maxSplits: 1)
        target = parts.first.map { String($0) } ?? ""
        self.reference = reference
        guard parts.count > 1 else { return }
        for header in String(parts[1]).split(separator: "&") where header.lowercased().hasPrefix("replaces=") {
            // It becomes a header field of our INVITE: without line ends.
            guard let value = header.dropFirst(9).removingPercentEncoding, !value.isEmpty,
                value.utf8.count <= Self.replacesLimit, value.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
            else { continue }
            replaces = value
        }
    }
}

/// One SIP dialog. Commands may be given from any thread; the transport carries them out in order (with `UserAgent`: on
/// the SIP thread).
public final class Dialog: Sendable, Equatable {
    public let callID: String
    public let id: Int
    private let transport: any SIPTransport

    public static func == (a: Dialog, b: Dialog) -> Bool { a === b }

    /// - Parameter id: by which `transport` knows the dialog.
    public init(id: Int, callID: String, transport: any SIPTransport) {
        self.id = id
        self.callID = callID
        self.transport = transport
    }

    /// 180, for an incoming call.
    public func ring() { transport.perform(.ring, on: id) }
    /// 183 with SDP, for an incoming call: what is sent from now on is heard before the answer. Acknowledged (RFC 3262)
    /// where the far end can.
    public func progress(sdp: String) { transport.perform(.progress(sdp: sdp), on: id) }
    /// 200 with SDP, for an incoming call or a re-INVITE.
    public func answer(sdp: String) { transport.perform(.answer(sdp: sdp), on: id) }
    /// A final refusal of an incoming INVITE or re-INVITE.
    public func reject(_ status: Int, headers: [(name: String, value: String)] = []) {
        transport.perform(.reject(status, headers: headers.map { SIPReply.Header($0.name, $0.value) }), on: id)
    }
    /// Asks the far end to call another address instead of us (REFER, RFC 3515); `DialogEvent.referral` reports how
    /// that goes.
    public func refer(to uri: String, by referrer: String) { transport.perform(.refer(to: uri, by: referrer), on: id) }
    /// From now on the far end may refer us; others hear 603.
    public func acceptReferrals() { transport.perform(.acceptReferrals, on: id) }
    /// Reports the progress of the referred call to the referrer (NOTIFY, RFC 3515 §2.4.5).
    public func report(_ status: Int, reference: UInt32) {
        transport.perform(.report(status, reference: reference), on: id)
    }
    /// Asks the owner of this dialog to let another call take its far end's place. One that is not answered yet has
    /// none to take (481), one that is over declines (603), RFC 3891 §3.
    public func replace(by call: IncomingCall) { transport.perform(.replace(by: call), on: id) }
    /// From now on `onEvent` hears what happens to an incoming call; at once that it has ended, where it has.
    public func listen(_ onEvent: @escaping @Sendable (DialogEvent) -> Void) { transport.listen(to: id, onEvent) }
    /// A new offer within the dialog: hold, resume, or another codec.
    public func reoffer(sdp: String) { transport.perform(.reoffer(sdp: sdp), on: id) }
    /// Ends whatever there is: CANCEL before the answer, BYE after it. A 200 that crosses the CANCEL is ended by BYE.
    public func hangUp(reason: String? = nil) { transport.perform(.hangUp(reason: reason), on: id) }
}
