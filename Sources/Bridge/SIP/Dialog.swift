/// What happens to a call, told to its owner in order.
public enum DialogEvent: Sendable, Equatable {
    /// 101–199; with SDP it is early media, which is heard but not answered.
    case progress(status: Int, sdp: String?)
    /// Final 2xx; the ACK has been sent.
    case answered(sdp: String?)
    /// The ACK of a call that came in; with SDP it answers our offer (RFC 3264, late offer).
    case acknowledged(sdp: String?)
    /// Final 3xx–6xx, or a local failure (408 time-out, 503 unreachable, 904 credentials refused).
    case failed(status: Int, phrase: String, retryAfterSeconds: Int?)
    /// re-INVITE: answer with `Dialog.answer` or `Dialog.reject`.
    case reoffer(sdp: String?)
    /// The far end cancelled its INVITE before we answered.
    case cancelled
    /// How the far end's call to where we referred it goes: 100–199 on its way, 2xx there, else not (RFC 3515 §2.4.4).
    case referral(status: Int)
    /// BYE from the far end, or the dialog is gone.
    case ended(byRemote: Bool)
}

/// One SIP dialog. Commands may be given from any thread; they take effect on the SIP thread, in order.
public final class Dialog: Sendable {
    public let callID: String
    let id: Int
    private let agent: UserAgent

    init(id: Int, callID: String, agent: UserAgent) {
        self.id = id
        self.callID = callID
        self.agent = agent
    }

    /// 180, for an incoming call.
    public func ring() { agent.command(id) { csofiaRespond($0, 180, nil) } }
    /// 183 or 200 with SDP, for an incoming call or a re-INVITE.
    public func answer(sdp: String) { agent.command(id) { csofiaRespond($0, 200, sdp) } }
    /// A final refusal of an incoming INVITE or re-INVITE.
    public func reject(_ status: Int, headers: [(name: String, value: String)] = []) { agent.command(id) { csofiaRespond($0, status, nil, headers) } }
    /// Asks the far end to call somebody else instead of us (REFER, RFC 3515); `DialogEvent.referral` tells how that goes.
    public func refer(to uri: String, by referrer: String) { agent.command(id) { csofiaRefer($0, "<\(uri)>", "<\(referrer)>") } }
    /// Ends whatever there is: CANCEL before the answer, BYE after it. A 200 that crosses the CANCEL is ended by BYE.
    public func hangUp(reason: String? = nil) { agent.hangUp(id, reason: reason) }
}
