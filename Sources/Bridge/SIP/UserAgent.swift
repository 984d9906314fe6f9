// Over 400 lines: every callback of sofia-sip ends in this one type.
internal import CSofia
internal import Foundation
public import Net
internal import Synchronization

/// The SIP stack: sofia-sip's `nua` on a thread of its own, spoken to by messages.
///
/// `@unchecked Sendable` is safe: `agent` is set before any other thread can see this object and is only used with
/// `csofia_post`, which is thread-safe; `calls` and `nextID` are only touched on the SIP thread, except that `lock`
/// guards the numbering and the mail box of functions.
public final class UserAgent: SIPTransport, @unchecked Sendable {
    public struct Configuration: Sendable {
        public var host = "127.0.0.1"
        public var port: UInt16 = 5060
        /// What peers are told, where it differs from the address we bind (NAT).
        public var advertisedHost: String?
        /// TCP port of SIP over TLS; nil: none.
        public var tlsPort: UInt16?
        /// Folder with `agent.pem` (certificate and key) and `cafile.pem`.
        public var tlsFolder: String?
        /// Certificates of servers that we connect to are checked.
        public var verifiesTLS = true
        /// Seconds of a session timer (RFC 4028); 0: only where the far end wants one.
        public var sessionExpires: UInt32 = 1_800
        public init() {}
    }

    /// Who decides about what comes in. All are called on the SIP thread, where nothing may wait.
    public struct Handlers: Sendable {
        /// A new call: returns who hears its events, or nil to refuse it with 404.
        public var incoming: @Sendable (IncomingCall) -> (@Sendable (DialogEvent) -> Void)? = { _ in nil }
        public var register: @Sendable (Registration) -> SIPReply = { _ in SIPReply(405) }
        public var options: @Sendable (OptionsRequest) -> SIPReply = { _ in SIPReply(200) }
        public init() {}
    }

    /// Challenges answered for one INVITE: one from the proxy and one from the far end.
    static let challengeLimit = 2
    /// Header values are cut at this many bytes.
    private static let headerLimit = 512

    final class Entry {
        let call: csofia_call
        let dialog: Dialog
        var onEvent: @Sendable (DialogEvent) -> Void
        let credentials: Invitation.Credentials?
        let isIncoming: Bool
        /// Hears the answers to OPTIONS or REGISTER of ours; such an entry is no dialog.
        var onAnswer: (@Sendable (_ status: Int) -> Void)?
        var acceptsReferrals = false
        var isToOurselves = false
        /// Of a provisional answer: the 200 need not repeat it (RFC 6337 §3.1.1).
        var earlySDP: String?
        var isReoffering = false
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
    let handlers: Handlers
    /// What is sent and received.
    public let trace = SIPTrace()
    var agent: OpaquePointer?
    var calls: [Int: Entry] = [:]
    private let lock = NSLock()
    private var lastID = 0
    /// The stack is gone: nothing can be posted to it. Guarded by `lock`.
    private var hasEnded = false

    /// What the SIP thread began last, for the watchdog.
    enum Activity: UInt8 {
        case stack, event, command
        var name: String {
            switch self {
            case .stack: "messages and timers of the SIP stack"
            case .event: "an event of the SIP stack"
            case .command: "a command to the SIP stack"
            }
        }
    }
    private let lastActivity = Atomic<UInt8>(0)
    var activity: Activity { Activity(rawValue: lastActivity.load(ordering: .relaxed)) ?? .stack }

    private func during(_ what: Activity, _ body: () -> Void) {
        let outer = lastActivity.exchange(what.rawValue, ordering: .relaxed)
        body()
        lastActivity.store(outer, ordering: .relaxed)
    }

    private let finished = DispatchSemaphore(value: 0)

    /// Binds UDP and TCP and starts the thread.
    /// - Throws: `NetError` when the port is taken or the address is not ours.
    public init(
        _ configuration: Configuration, handlers: Handlers = Handlers()
    ) throws(NetError) {
        self.configuration = configuration
        self.handlers = handlers
        let started = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            csofia_init()
            let host = configuration.advertisedHost ?? configuration.host
            let maddr = host == configuration.host ? "" : ";maddr=\(configuration.host)"
            let tls = configuration.tlsFolder == nil ? nil : configuration.tlsPort.map { "sips:\(host):\($0)\(maddr)" }
            agent = Self.create(
                url: "sip:\(host):\(configuration.port)\(maddr)", tls: tls, configuration,
                Unmanaged.passUnretained(self).toOpaque())
            started.signal()
            guard let agent else { return }
            // One stack a process is the rule; where a test runs two, the newer one's trace hears both.
            csofia_trace(
                { application, line in
                    guard let application, let line else { return }
                    Unmanaged<SIPTrace>.fromOpaque(application).takeUnretainedValue().take(String(cString: line))
                }, Unmanaged.passRetained(trace).toOpaque())
            csofia_run(agent)
            for entry in calls.values {
                entry.end(.ended(byRemote: false))
                csofia_release(entry.call)
            }
            calls.removeAll()
            lock.withLock { hasEnded = true }
            csofia_destroy(agent)
            finished.signal()
        }
        thread.stackSize = 2 << 20
        thread.start()
        started.wait()
        guard agent != nil else {
            throw NetError(
                .addressInUse,
                "cannot bind SIP to \(configuration.host):\(configuration.port): "
                    + "is the port taken, or the address not this machine's?"
            )
        }
    }

    private static func create(url: String, tls: String?, _ configuration: Configuration, _ me: UnsafeMutableRawPointer)
        -> OpaquePointer?
    {
        let strings = [url, "Trunkline", tls, tls == nil ? nil : configuration.tlsFolder].map { $0.map { strdup($0) } }
        defer { for string in strings { free(string ?? nil) } }
        var settings = csofia_configuration()
        settings.bind_url = UnsafePointer(strings[0] ?? nil)
        settings.user_agent = UnsafePointer(strings[1] ?? nil)
        settings.tls_url = UnsafePointer(strings[2] ?? nil)
        settings.tls_folder = UnsafePointer(strings[3] ?? nil)
        settings.verifies_tls = configuration.verifiesTLS ? 1 : 0
        settings.session_expires = configuration.sessionExpires
        return csofia_create(
            &settings,
            { application, event in
                guard let application, let event else { return }
                let agent = Unmanaged<UserAgent>.fromOpaque(application).takeUnretainedValue()
                agent.during(.event) { agent.handle(event.pointee) }
            }, me)
    }

    /// Ends all dialogs (BYE, CANCEL) and the thread.
    public func stop() {
        post { agent in
            for entry in agent.calls.values { agent.end(entry, reason: nil) }
            if let handle = agent.agent { csofia_shutdown(handle) }
        }
        _ = finished.wait(timeout: .now() + 5)
    }

    /// Where we reach ourselves, however the world outside does.
    public var inside: (host: String, port: UInt16) {
        (configuration.host == "0.0.0.0" ? "127.0.0.1" : configuration.host, configuration.port)
    }

    /// The host and port peers should use.
    public var advertised: String { configuration.advertisedHost ?? configuration.host }

    // MARK: Commands, from any thread

    func nextID() -> Int {
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
        let failed = lock.withLock {
            hasEnded
                ? -1
                : csofia_post(
                    agent,
                    { argument in
                        guard let argument else { return }
                        let posted = Unmanaged<Posted>.fromOpaque(argument).takeRetainedValue()
                        posted.agent.during(.command) { posted.body(posted.agent) }
                    }, box.toOpaque())
        }
        if failed != 0 { box.release() }
    }

    /// Runs a function on the SIP thread, soon. From any thread.
    func perform(_ body: @escaping @Sendable (UserAgent) -> Void) { post(body) }

    /// Sends an INVITE. Events come on the SIP thread, in order; the last is `failed` or `ended`.
    public func invite(_ invitation: Invitation, onEvent: @escaping @Sendable (DialogEvent) -> Void) -> Dialog {
        let id = nextID()
        let dialog = Dialog(id: id, callID: invitation.callID, transport: self)
        post { agent in
            let headers = Self.headerLines(invitation.headers)
            guard
                let call = csofia_invite(
                    agent.agent, invitation.requestURI, invitation.to, invitation.from, invitation.callID,
                    invitation.proxy, invitation.sdp, headers.isEmpty ? nil : headers,
                    UnsafeMutableRawPointer(bitPattern: id))
            else {
                onEvent(.failed(status: 400, phrase: "the number makes no valid SIP address", retryAfterSeconds: nil))
                return
            }
            let entry = Entry(
                call: call, dialog: dialog, credentials: invitation.credentials, isIncoming: false, onEvent: onEvent)
            entry.isToOurselves = invitation.isToOurselves
            agent.calls[id] = entry
        }
        return dialog
    }

    /// Sends OPTIONS; `answer` hears the status of the final response, 408 where none came.
    public func options(to uri: String, proxy: String? = nil, answer: @escaping @Sendable (_ status: Int) -> Void) {
        let id = nextID()
        post { agent in
            guard let call = agent.openHandle(id, to: uri, onAnswer: answer) else { return answer(400) }
            csofia_options(call, uri, proxy)
        }
    }

    /// Registers us at a trunk, and again before it runs out, until `TrunkRegistration.end`. `answer` hears each final
    /// response.
    public func register(
        _ address: String, at registrar: String, proxy: String? = nil, credentials: Invitation.Credentials?,
        seconds: Int,
        answer: @escaping @Sendable (_ status: Int) -> Void
    ) -> TrunkRegistration {
        let id = nextID()
        post { agent in
            guard let call = agent.openHandle(id, to: address, credentials: credentials, onAnswer: answer) else {
                return answer(400)
            }
            csofia_register(call, registrar, proxy, Int32(clamping: seconds))
        }
        return TrunkRegistration(id: id, agent: self)
    }

    /// A registration of ours at a trunk.
    public struct TrunkRegistration: Sendable {
        fileprivate let id: Int
        fileprivate let agent: UserAgent
        /// Takes it back.
        public func end() { agent.command(id) { csofia_unregister($0) } }
        /// Forgets it without a word: it has failed.
        public func abandon() { agent.post { $0.forget(self.id) } }
    }

    /// The kernel drops what comes from these IPv4 addresses (host byte order) to our SIP ports; they replace those
    /// given before.
    public func shutOut(_ addresses: [UInt32]) {
        post { agent in
            var ports = [agent.configuration.port]
            if agent.configuration.tlsFolder != nil, let port = agent.configuration.tlsPort { ports.append(port) }
            csofia_shut_out(ports, Int32(ports.count), addresses, Int32(addresses.count))
        }
    }

    /// Connections of these IPv4 addresses (host byte order) are the last to give way where there are too many; they
    /// replace those given before.
    public func favour(_ addresses: [UInt32]) {
        post { _ in csofia_favour(addresses, Int32(clamping: addresses.count)) }
    }

    /// Requests that were dropped since the process began, because more came than are taken in a second
    /// (Sources/C/Sofia/admission.c).
    public static var droppedRequests: Int { Int(clamping: csofia_dropped_requests()) }

    private func openHandle(
        _ id: Int, to uri: String, credentials: Invitation.Credentials? = nil,
        onAnswer: @escaping @Sendable (Int) -> Void
    ) -> csofia_call? {
        let from = credentials == nil ? "<sip:trunkline@\(advertised)>" : "<\(uri)>"
        guard let call = csofia_handle(agent, "<\(uri)>", from, UnsafeMutableRawPointer(bitPattern: id)) else {
            return nil
        }
        let entry = Entry(
            call: call, dialog: Dialog(id: id, callID: "", transport: self), credentials: credentials,
            isIncoming: false,
            onEvent: { _ in })
        entry.onAnswer = onAnswer
        calls[id] = entry
        return call
    }

    func forget(_ id: Int) {
        guard let entry = calls.removeValue(forKey: id) else { return }
        csofia_bind(entry.call, nil)
        csofia_release(entry.call)
    }

    public func perform(_ command: DialogCommand, on id: Int) {
        post { agent in
            guard let entry = agent.calls[id] else {
                // Its far end's place cannot be taken any more.
                if case .replace(let call) = command { call.dialog.reject(603) }
                return
            }
            agent.perform(command, on: entry)
        }
    }

    private func perform(_ command: DialogCommand, on entry: Entry) {
        switch command {
        case .ring: csofia_respond(entry.call, 180, nil, nil)
        case .progress(let sdp): csofia_progress(entry.call, 183, sdp, 1)
        case .answer(let sdp): csofia_respond(entry.call, 200, sdp, nil)
        case .reject(let status, let headers):
            let lines = Self.headerLines(headers.map { ($0.name, $0.value) })
            csofia_respond(entry.call, Int32(clamping: status), nil, lines.isEmpty ? nil : lines)
        case .refer(let target, let referrer): csofia_refer(entry.call, "<\(target)>", "<\(referrer)>")
        case .acceptReferrals: entry.acceptsReferrals = true
        case .report(let status, let reference):
            let phrase = status < 200 ? "Trying" : status < 300 ? "OK" : "Failed"
            csofia_notify(entry.call, reference, "SIP/2.0 \(status) \(phrase)", status >= 200 ? 1 : 0)
        case .replace(let call): replace(entry, by: call)
        case .reoffer(let sdp):
            guard entry.isAnswered, !entry.isHangingUp else { return }
            entry.isReoffering = true
            csofia_reinvite(entry.call, sdp)
        case .hangUp(let reason): end(entry, reason: reason)
        }
    }

    private func replace(_ entry: Entry, by call: IncomingCall) {
        guard !entry.isHangingUp, !entry.didReportEnd else { return call.dialog.reject(603) }
        guard entry.isAnswered else { return call.dialog.reject(481) }
        guard !call.replacesEarlyOnly else { return call.dialog.reject(486) }
        entry.onEvent(.replaced(by: call))
    }

    public func listen(to id: Int, _ onEvent: @escaping @Sendable (DialogEvent) -> Void) {
        post { agent in
            guard let entry = agent.calls[id], !entry.didReportEnd else { return onEvent(.ended(byRemote: true)) }
            entry.onEvent = onEvent
        }
    }

    static func headerLines(_ headers: [(name: String, value: String)]) -> String {
        headers.map { "\($0.name): \(headerSafe($0.value))" }.joined(separator: "\r\n")
    }

    /// No line break of a caller's may begin a header of its own.
    static func headerSafe(_ value: String) -> String {
        String(
            String.UnicodeScalarView(value.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }).prefix(
                headerLimit))
    }

    func command(_ id: Int, _ body: @escaping @Sendable (csofia_call) -> Void) {
        post { agent in
            guard let entry = agent.calls[id] else { return }
            body(entry.call)
        }
    }

    func end(_ entry: Entry, reason: String?) {
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
}
