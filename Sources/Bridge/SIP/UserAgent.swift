internal import CSofia
internal import Foundation
public import Net

func csofiaRespond(_ call: csofia_call, _ status: Int, _ sdp: String?, _ headers: [(name: String, value: String)] = []) {
    csofia_respond(call, Int32(status), sdp, headers.isEmpty ? nil : UserAgent.headerLines(headers))
}

func csofiaRefer(_ call: csofia_call, _ target: String, _ referrer: String) { csofia_refer(call, target, referrer) }

/// An INVITE to send.
public struct Invitation: Sendable {
    public struct Credentials: Sendable, Equatable {
        public var user: String
        public var password: String
        public init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }
    public var requestURI: String
    /// Display name and URI with tag as they stand in From, e.g. `"Clinic" <sip:1000@host>;tag=outb-…`.
    public var from: String
    public var to: String
    public var callID: String
    /// Outbound proxy, a SIP URI.
    public var proxy: String?
    public var sdp: String
    public var headers: [(name: String, value: String)]
    public var credentials: Credentials?
    public init(
        requestURI: String, from: String, to: String, callID: String, proxy: String? = nil, sdp: String,
        headers: [(name: String, value: String)] = [], credentials: Credentials? = nil
    ) {
        self.requestURI = requestURI
        self.from = from
        self.to = to
        self.callID = callID
        self.proxy = proxy
        self.sdp = sdp
        self.headers = headers
        self.credentials = credentials
    }
}

/// An INVITE received.
public struct IncomingCall: Sendable {
    public var dialog: Dialog
    /// User parts of From and of the Request-URI.
    public var from: String
    public var to: String
    public var sdp: String?
    public var outboundID: String?
    /// IPv4 address that the INVITE came from.
    public var source = ""
    /// Of the body; nil without one.
    public var contentType: String?
}

/// The SIP stack: sofia-sip's `nua` on a thread of its own, spoken to by messages.
///
/// `@unchecked Sendable` is safe: `agent` is set before any other thread can see this object and is only used with
/// `csofia_post`, which is thread-safe; `calls` and `nextID` are only touched on the SIP thread, except that `lock`
/// guards the numbering and the mail box of functions.
public final class UserAgent: @unchecked Sendable {
    public struct Configuration: Sendable {
        public var host = "127.0.0.1"
        public var port: UInt16 = 5060
        /// What peers are told, where it differs from the address we bind (NAT).
        public var advertisedHost: String?
        public init() {}
    }

    /// Challenges answered for one INVITE: one from the proxy and one from the far end.
    private static let challengeLimit = 2
    /// Header values are cut at this many bytes.
    private static let headerLimit = 512

    private final class Entry {
        let call: csofia_call
        let dialog: Dialog
        var onEvent: @Sendable (DialogEvent) -> Void
        let credentials: Invitation.Credentials?
        let isIncoming: Bool
        var challenges = 0
        var isAnswered = false
        var isHangingUp = false
        var didReportEnd = false
        init(
            call: csofia_call, dialog: Dialog, credentials: Invitation.Credentials?, isIncoming: Bool,
            onEvent: @escaping @Sendable (DialogEvent) -> Void
        ) {
            self.call = call
            self.dialog = dialog
            self.credentials = credentials
            self.isIncoming = isIncoming
            self.onEvent = onEvent
        }
        func end(_ event: DialogEvent) {
            guard !didReportEnd else { return }
            didReportEnd = true
            onEvent(event)
        }
    }

    public let configuration: Configuration
    /// Decides on a new incoming call: returns who hears its events, or nil to refuse it with 404.
    private let onIncoming: @Sendable (IncomingCall) -> (@Sendable (DialogEvent) -> Void)?
    private var agent: OpaquePointer?
    private var calls: [Int: Entry] = [:]
    private let lock = NSLock()
    private var lastID = 0
    private let finished = DispatchSemaphore(value: 0)

    /// Binds UDP and TCP and starts the thread.
    /// - Throws: `NetError` when the port is taken or the address is not ours.
    public init(
        _ configuration: Configuration, onIncoming: @escaping @Sendable (IncomingCall) -> (@Sendable (DialogEvent) -> Void)? = { _ in nil }
    ) throws(NetError) {
        self.configuration = configuration
        self.onIncoming = onIncoming
        let started = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            Thread.current.name = "sip"
            csofia_init()
            let host = configuration.advertisedHost ?? configuration.host
            let maddr = host == configuration.host ? "" : ";maddr=\(configuration.host)"
            "sip:\(host):\(configuration.port)\(maddr)".withCString { url in
                "Trunkline".withCString { name in
                    var settings = csofia_configuration(bind_url: url, user_agent: name)
                    agent = csofia_create(
                        &settings,
                        { application, event in
                            guard let application, let event else { return }
                            Unmanaged<UserAgent>.fromOpaque(application).takeUnretainedValue().handle(event.pointee)
                        }, Unmanaged.passUnretained(self).toOpaque())
                }
            }
            started.signal()
            guard let agent else { return }
            csofia_run(agent)
            for entry in calls.values {
                entry.end(.ended(byRemote: false))
                csofia_release(entry.call)
            }
            calls.removeAll()
            csofia_destroy(agent)
            finished.signal()
        }
        thread.stackSize = 2 << 20
        thread.start()
        started.wait()
        guard agent != nil else {
            throw NetError(
                .addressInUse,
                "cannot bind SIP to \(configuration.host):\(configuration.port): is the port taken, or the address not this machine's?")
        }
    }

    /// Ends all dialogs (BYE, CANCEL) and the thread.
    public func stop() {
        post { agent in
            for entry in agent.calls.values { agent.end(entry, reason: nil) }
            if let handle = agent.agent { csofia_shutdown(handle) }
        }
        _ = finished.wait(timeout: .now() + 5)
    }

    /// The host and port peers should use.
    public var advertised: String { configuration.advertisedHost ?? configuration.host }

    // MARK: Commands, from any thread

    private func nextID() -> Int {
        lock.withLock {
            lastID += 1; return lastID
        }
    }

    private final class Posted {
        let agent: UserAgent
        let body: @Sendable (UserAgent) -> Void
        init(_ agent: UserAgent, _ body: @escaping @Sendable (UserAgent) -> Void) {
            self.agent = agent
            self.body = body
        }
    }

    private func post(_ body: @escaping @Sendable (UserAgent) -> Void) {
        guard let agent else { return }
        let box = Unmanaged.passRetained(Posted(self, body))
        let failed = csofia_post(
            agent,
            { argument in
                guard let argument else { return }
                let posted = Unmanaged<Posted>.fromOpaque(argument).takeRetainedValue()
                posted.body(posted.agent)
            }, box.toOpaque())
        if failed != 0 { box.release() }
    }

    /// Sends an INVITE. Events come on the SIP thread, in order; the last is `failed` or `ended`.
    public func invite(_ invitation: Invitation, onEvent: @escaping @Sendable (DialogEvent) -> Void) -> Dialog {
        let id = nextID()
        let dialog = Dialog(id: id, callID: invitation.callID, agent: self)
        post { agent in
            let headers = Self.headerLines(invitation.headers)
            guard
                let call = csofia_invite(
                    agent.agent, invitation.requestURI, invitation.to, invitation.from, invitation.callID,
                    invitation.proxy, invitation.sdp, headers.isEmpty ? nil : headers, UnsafeMutableRawPointer(bitPattern: id))
            else {
                onEvent(.failed(status: 400, phrase: "the number makes no valid SIP address", retryAfterSeconds: nil))
                return
            }
            agent.calls[id] = Entry(
                call: call, dialog: dialog, credentials: invitation.credentials, isIncoming: false, onEvent: onEvent)
        }
        return dialog
    }

    static func headerLines(_ headers: [(name: String, value: String)]) -> String {
        headers.map { "\($0.name): \(headerSafe($0.value))" }.joined(separator: "\r\n")
    }

    /// No line break of a caller's may begin a header of its own.
    static func headerSafe(_ value: String) -> String {
        String(String.UnicodeScalarView(value.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }).prefix(headerLimit))
    }

    func command(_ id: Int, _ body: @escaping @Sendable (csofia_call) -> Void) {
        post { agent in
            guard let entry = agent.calls[id] else { return }
            body(entry.call)
        }
    }

    func hangUp(_ id: Int, reason: String?) {
        post { agent in
            guard let entry = agent.calls[id] else { return }
            agent.end(entry, reason: reason)
        }
    }

    private func end(_ entry: Entry, reason: String?) {
        guard !entry.isHangingUp else { return }
        entry.isHangingUp = true
        if entry.isAnswered {
            csofia_bye(entry.call, reason)
        } else if entry.isIncoming {
            csofia_respond(entry.call, 480, nil, nil)
        } else {
            csofia_cancel(entry.call)
        }
    }

    // MARK: Events, on the SIP thread

    private func handle(_ event: csofia_event) {
        let id = Int(bitPattern: event.context)
        guard id != 0 else {
            if Int(event.kind) == Int(CSOFIA_INCOMING.rawValue) { incoming(event) }
            return
        }
        guard let entry = calls[id] else { return }
        let sdp = event.sdp.map { String(cString: $0) }
        switch UInt32(event.kind) {
        case CSOFIA_RESPONSE.rawValue: response(event, entry, sdp)
        case CSOFIA_INCOMING.rawValue: entry.onEvent(.reoffer(sdp: sdp))
        case CSOFIA_ACK.rawValue:
            let isFirst = entry.isIncoming && !entry.isAnswered
            entry.isAnswered = true
            if isFirst { entry.onEvent(.acknowledged(sdp: sdp)) }
        case CSOFIA_CANCELLED.rawValue: entry.end(.cancelled)
        case CSOFIA_REFER.rawValue: referred(event, entry)
        case CSOFIA_NOTIFY.rawValue:
            // A status line and perhaps headers (RFC 3420).
            let fragment = event.body.map { String(cString: $0) } ?? ""
            guard fragment.hasPrefix("SIP/2.0 "), let status = Int(fragment.dropFirst(8).prefix(3)) else { return }
            entry.onEvent(.referral(status: status))
        case CSOFIA_BYE.rawValue: entry.end(.ended(byRemote: true))
        case CSOFIA_STATE.rawValue:
            // Of an incoming call the ACK tells, which may bring an answer of its own.
            if event.state == CSOFIA_STATE_READY.rawValue, !entry.isIncoming { entry.isAnswered = true }
            if event.state == CSOFIA_STATE_TERMINATED.rawValue {
                // Without a reason of its own by now: our BYE is done, or the transaction layer gave up.
                entry.end(
                    entry.isAnswered || entry.isIncoming
                        ? .ended(byRemote: false)
                        : .failed(status: event.status > 0 ? Int(event.status) : 487, phrase: text(event.phrase), retryAfterSeconds: nil))
                calls[id] = nil
                csofia_bind(entry.call, nil)
                csofia_release(entry.call)
            }
        default: break
        }
    }

    private func response(_ event: csofia_event, _ entry: Entry, _ sdp: String?) {
        let status = Int(event.status)
        switch status {
        case ..<101: break
        case 101..<200: entry.onEvent(.progress(status: status, sdp: sdp))
        case 200..<300:
            guard !entry.isAnswered else { return }
            entry.isAnswered = true
            entry.challenges = 0
            if entry.isHangingUp {  // the 200 crossed our CANCEL
                csofia_bye(entry.call, nil)
            } else {
                entry.onEvent(.answered(sdp: sdp))
            }
        case 401, 407:
            if answerChallenge(entry) { return }
            entry.end(.failed(status: status, phrase: text(event.phrase), retryAfterSeconds: nil))
        default:
            guard !entry.isAnswered else { return }
            entry.end(
                .failed(
                    status: status, phrase: text(event.phrase),
                    retryAfterSeconds: event.retry_after >= 0 ? Int(event.retry_after) : nil))
        }
    }

    /// False: we have no answer to the digest challenge of the event now being delivered.
    private func answerChallenge(_ entry: Entry) -> Bool {
        guard let credentials = entry.credentials, entry.challenges < Self.challengeLimit, !entry.isHangingUp else { return false }
        entry.challenges += 1
        return csofia_authenticate(agent, entry.call, credentials.user, credentials.password) == 0
    }

    private func referred(_ event: csofia_event, _ entry: Entry) {
        let status = Int(event.status)
        switch status {
        case ..<200: break
        case 200..<300:
            // Taken, no more than that: a NOTIFY tells the end. Later challenges are of other requests.
            entry.challenges = 0
            entry.onEvent(.referral(status: 100))
        case 401, 407:
            if !answerChallenge(entry) { entry.onEvent(.referral(status: status)) }
        default: entry.onEvent(.referral(status: status))
        }
    }

    private func incoming(_ event: csofia_event) {
        guard let call = event.call else { return }
        let id = nextID()
        let dialog = Dialog(id: id, callID: text(event.call_id), agent: self)
        let incoming = IncomingCall(
            dialog: dialog, from: text(event.from_user), to: text(event.request_user),
            sdp: event.sdp.map { String(cString: $0) }, outboundID: event.outbound_id.map { String(cString: $0) },
            source: text(event.source), contentType: event.body == nil ? nil : event.content_type.map { String(cString: $0) })
        csofia_bind(call, UnsafeMutableRawPointer(bitPattern: id))
        // In place before the owner can answer: his commands come by `post`, after this event.
        let entry = Entry(call: call, dialog: dialog, credentials: nil, isIncoming: true, onEvent: { _ in })
        calls[id] = entry
        guard let owner = onIncoming(incoming) else {
            csofia_respond(call, 404, nil, nil)
            return
        }
        entry.onEvent = owner
    }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
}
