/// What happens to a call, told to its owner in order.
public enum DialogEvent: Sendable, Equatable {
    /// 101–199; with SDP it is early media, which is heard but not answered.
    case progress(status: Int, sdp: String?)
    /// Final 2xx; the ACK has been sent.
    case answered(sdp: String?)
    /// Final 3xx–6xx, or a local failure (408 time-out, 503 unreachable, 904 credentials refused).
    case failed(status: Int, phrase: String, retryAfterSeconds: Int?)
    /// re-INVITE: answer with `Dialog.answer` or `Dialog.reject`.
    case reoffer(sdp: String?)
    /// The far end cancelled its INVITE before we answered.
    case cancelled
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
    public func reject(_ status: Int) { agent.command(id) { csofiaRespond($0, status, nil) } }
    /// Ends whatever there is: CANCEL before the answer, BYE after it. A 200 that crosses the CANCEL is ended by BYE.
    public func hangUp(reason: String? = nil) { agent.hangUp(id, reason: reason) }
}
