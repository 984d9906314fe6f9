/// What carries SIP dialogs: the stack (`UserAgent`), or a scripted one in tests.
public protocol SIPTransport: AnyObject, Sendable {
    /// The host that peers should use.
    var advertised: String { get }
    /// Where we reach ourselves, however the world outside does.
    var inside: (host: String, port: UInt16) { get }
    /// What is sent and received.
    var trace: SIPTrace { get }

    /// Sends an INVITE. `onEvent` is called in order, on a thread of the transport's; the last event is `failed` or
    /// `ended`.
    func invite(_ invitation: Invitation, onEvent: @escaping @Sendable (DialogEvent) -> Void) -> Dialog
    /// From any thread. A command for a dialog that is over does nothing.
    func perform(_ command: DialogCommand, on dialog: Int)
    /// Replaces who hears the dialog's events. One that is over tells so at once (`ended`).
    func listen(to dialog: Int, _ onEvent: @escaping @Sendable (DialogEvent) -> Void)
}

/// What the owner of a dialog has done with it; `Dialog`'s functions say what each means.
public enum DialogCommand: Sendable, Equatable {
    case ring
    case progress(sdp: String)
    case answer(sdp: String)
    case reject(Int, headers: [SIPReply.Header])
    case refer(to: String, by: String)
    case acceptReferrals
    case report(Int, reference: UInt32)
    case replace(by: IncomingCall)
    case reoffer(sdp: String)
    case hangUp(reason: String?)
}
