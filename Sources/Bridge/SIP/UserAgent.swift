// Over 400 lines: every callback of sofia-sip ends in this one type.
internal import CSofia
internal import Foundation
public import Net
internal import Synchronization

func csofiaRespond(_ call: csofia_call, _ status: Int, _ sdp: String?, _ headers: [(name: String, value: String)] = [])
{
    csofia_respond(call, Int32(status), sdp, headers.isEmpty ? nil : UserAgent.headerLines(headers))
}

func csofiaRefer(_ call: csofia_call, _ target: String, _ referrer: String) { csofia_refer(call, target, referrer) }

/// An INVITE to send.
public struct Invitation: Sendable {
    public struct Credentials: Sendable, Equatable {
        public var user: String
        public var password: String
        /// Challenges of other realms are not answered; nil: that of whoever the request goes to.
        public var realm: String?
        public init(user: String, password: String, realm: String? = nil) {
            self.user = user
            self.password = password
            self.realm = realm
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
    /// It comes to ourselves, to take a place in another call of ours (Replaces).
    public var isToOurselves = false
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
public struct IncomingCall: Sendable, Equatable {
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
    /// Value of Authorization or Proxy-Authorization.
    public var authorization: String?
    /// Value of User-Agent.
    public var agent: String?
    /// It wants no SDP in the answer.
    public var rejectsSDP = false
    /// User part of P-Asserted-Identity (RFC 3325), as anybody may write it.
    public var assertedIdentity: String?
    /// Whose place the caller wants to take, where it is a dialog of ours (RFC 3891).
    public var replaces: Dialog?
    /// ... but only while that one rings.
    public var replacesEarlyOnly = false
    /// It names a dialog, but none of ours.
    public var replacesUnknown = false
    /// It is an INVITE of our own.
    public var isFromOurselves = false
}

/// A request outside a dialog that wants an answer at once.
public struct OptionsRequest: Sendable {
    public var source: String
    public var agent: String?
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
    private static let challengeLimit = 2
    /// Header values are cut at this many bytes.
    private static let headerLimit = 512

    private final class Entry {
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
    private let handlers: Handlers
    /// What is sent and received.
    public let trace = SIPTrace()
    private var agent: OpaquePointer?
    private var calls: [Int: Entry] = [:]
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
        let dialog = Dialog(id: id, callID: invitation.callID, agent: self)
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
            call: call, dialog: Dialog(id: id, callID: "", agent: self), credentials: credentials, isIncoming: false,
            onEvent: { _ in })
        entry.onAnswer = onAnswer
        calls[id] = entry
        return call
    }

    private func forget(_ id: Int) {
        guard let entry = calls.removeValue(forKey: id) else { return }
        csofia_bind(entry.call, nil)
        csofia_release(entry.call)
    }

    func acceptReferrals(_ id: Int) { post { $0.calls[id]?.acceptsReferrals = true } }

    func replace(_ id: Int, by call: IncomingCall) {
        post { agent in
            guard let entry = agent.calls[id], !entry.isHangingUp, !entry.didReportEnd else {
                return call.dialog.reject(603)
            }
            guard entry.isAnswered else { return call.dialog.reject(481) }
            guard !call.replacesEarlyOnly else { return call.dialog.reject(486) }
            entry.onEvent(.replaced(by: call))
        }
    }

    func listen(_ id: Int, _ onEvent: @escaping @Sendable (DialogEvent) -> Void) {
        post { agent in
            guard let entry = agent.calls[id], !entry.didReportEnd else { return onEvent(.ended(byRemote: true)) }
            entry.onEvent = onEvent
        }
    }

    func reoffer(_ id: Int, sdp: String) {
        post { agent in
            guard let entry = agent.calls[id], entry.isAnswered, !entry.isHangingUp else { return }
            entry.isReoffering = true
            csofia_reinvite(entry.call, sdp)
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
        // Without a Contact there is nowhere to send anything within the call (RFC 3261 §8.1.1.8).
        let isHomeless = UInt32(event.kind) == CSOFIA_INCOMING.rawValue && event.contact == nil
        if event.is_unreadable != 0 || isHomeless, id == 0 {
            if UInt32(event.kind) == CSOFIA_INCOMING.rawValue, let call = event.call {
                csofia_respond(call, 400, nil, nil)
                return csofia_release(call)
            }
            if [CSOFIA_REGISTER.rawValue, CSOFIA_OPTIONS.rawValue].contains(UInt32(event.kind)) {
                return reply(SIPReply(400), to: event)
            }
        }
        switch UInt32(event.kind) {
        case CSOFIA_REGISTER.rawValue: return reply(handlers.register(registration(event)), to: event)
        case CSOFIA_OPTIONS.rawValue:
            return reply(
                handlers.options(
                    OptionsRequest(source: text(event.source), agent: event.agent.map { String(cString: $0) })),
                to: event)
        case CSOFIA_INCOMING.rawValue where id == 0: return incoming(event)
        default: break
        }
        guard let entry = calls[id] else { return }
        let sdp = event.sdp.map { String(cString: $0) }
        switch UInt32(event.kind) {
        case CSOFIA_RESPONSE.rawValue: response(event, entry, sdp)
        case CSOFIA_INCOMING.rawValue: entry.onEvent(.reoffer(sdp: sdp))
        case CSOFIA_UPDATE.rawValue: updated(event, entry, sdp)
        case CSOFIA_ACK.rawValue:
            let isFirst = entry.isIncoming && !entry.isAnswered
            entry.isAnswered = true
            if isFirst || sdp != nil { entry.onEvent(.acknowledged(sdp: sdp)) }
        case CSOFIA_CANCELLED.rawValue: entry.end(.cancelled)
        case CSOFIA_REFER.rawValue: referred(event, entry)
        case CSOFIA_REFERRED.rawValue:
            guard entry.acceptsReferrals, entry.isAnswered, let target = event.refer_to else {
                return reply(SIPReply(603), to: event)
            }
            reply(SIPReply(202), to: event)
            var referral = Referral(uri: String(cString: target), reference: event.reference)
            if let replaces = referral.replaces, let found = csofia_replaced(agent, replaces) {
                referral.replacesOurs = calls[Int(bitPattern: csofia_context(found))] != nil
                csofia_unreference(found)
            }
            entry.onEvent(.referralRequested(referral))
        case CSOFIA_ALIVE.rawValue, CSOFIA_REGISTERED.rawValue: answered(event, entry)
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
                        : .failed(
                            status: event.status > 0 ? Int(event.status) : 487, phrase: text(event.phrase),
                            retryAfterSeconds: nil))
                calls[id] = nil
                csofia_bind(entry.call, nil)
                csofia_release(entry.call)
            }
        default: break
        }
    }

    /// UPDATE (RFC 3311 §5.2): a session is refreshed, or the media change as by a re-INVITE.
    private func updated(_ event: csofia_event, _ entry: Entry, _ sdp: String?) {
        guard let sdp else { return reply(SIPReply(200), to: event) }
        guard !entry.isReoffering else { return reply(SIPReply(491), to: event) }
        // The offer of the INVITE is still to be answered, or an UPDATE before this one.
        guard entry.isAnswered, csofia_keep(agent, entry.call) == 0 else {
            return reply(SIPReply(500, [.init("Retry-After", "1")]), to: event)
        }
        entry.onEvent(.reoffer(sdp: sdp))
    }

    private func response(_ event: csofia_event, _ entry: Entry, _ sdp: String?) {
        let status = Int(event.status)
        if entry.isReoffering {
            switch status {
            case ..<200: return
            case 200..<300:
                entry.isReoffering = false
                return entry.onEvent(.reanswered(sdp: sdp))
            case 401, 407: if answerChallenge(entry) { return }
            default: break
            }
            entry.isReoffering = false
            return entry.onEvent(.reofferRefused(status: status))
        }
        switch status {
        case ..<101: break
        case 101..<200:
            entry.earlySDP = sdp ?? entry.earlySDP
            entry.onEvent(.progress(status: status, sdp: sdp))
        case 200..<300:
            guard !entry.isAnswered else { return }
            entry.isAnswered = true
            entry.challenges = 0
            if entry.isHangingUp {  // the 200 crossed our CANCEL
                csofia_bye(entry.call, nil)
            } else {
                entry.onEvent(.answered(sdp: sdp ?? entry.earlySDP))
            }
        case 401, 407:
            if answerChallenge(entry) { return }
            entry.end(.failed(status: status, phrase: text(event.phrase), retryAfterSeconds: nil))
        default:
            guard !entry.isAnswered else { return }
            entry.end(
                .failed(
                    status: status, phrase: text(event.phrase),
                    retryAfterSeconds: event.retry_after >= 0 ? Int(event.retry_after) : nil,
                    contact: (300..<400).contains(status) ? event.contact.map { String(cString: $0) } : nil))
        }
    }

    /// A response to OPTIONS or REGISTER of ours.
    private func answered(_ event: csofia_event, _ entry: Entry) {
        let status = Int(event.status)
        guard status >= 200 else { return }
        if status == 401 || status == 407, answerChallenge(entry) { return }
        if status < 300 { entry.challenges = 0 }
        entry.onAnswer?(status)
        if UInt32(event.kind) == CSOFIA_ALIVE.rawValue { forget(entry.dialog.id) }
    }

    /// False: we have no answer to the digest challenge of the event now being delivered.
    private func answerChallenge(_ entry: Entry) -> Bool {
        guard let credentials = entry.credentials, entry.challenges < Self.challengeLimit, !entry.isHangingUp else {
            return false
        }
        entry.challenges += 1
        return csofia_authenticate(agent, entry.call, credentials.user, credentials.password, credentials.realm) == 0
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

    /// To a request outside a dialog, or a REFER within one; only while its event is being delivered.
    private func reply(_ reply: SIPReply, to event: csofia_event) {
        guard let call = event.call else { return }
        let headers = Self.headerLines(reply.headers.map { ($0.name, $0.value) })
        csofia_reply_now(agent, call, Int32(reply.status), headers.isEmpty ? nil : headers)
    }

    private func registration(_ event: csofia_event) -> Registration {
        let contacts = text(event.contacts).split(separator: "\n").map { line in
            let parts = line.split(separator: "\t", maxSplits: 1)
            return Registration.Contact(
                uri: String(parts.first ?? ""),
                expires: parts.count > 1 ? Int(parts[1]).flatMap { $0 < 0 ? nil : $0 } : nil)
        }
        return Registration(
            user: text(event.to_user), callID: text(event.call_id), sequence: event.cseq, contacts: contacts,
            expires: event.expires < 0 ? nil : Int(event.expires),
            authorization: event.authorization.map { String(cString: $0) },
            source: text(event.source), port: event.source_port, transport: text(event.transport),
            agent: event.agent.map { String(cString: $0) })
    }

    private func incoming(_ event: csofia_event) {
        guard let call = event.call else { return }
        let id = nextID()
        let dialog = Dialog(id: id, callID: text(event.call_id), agent: self)
        var incoming = IncomingCall(
            dialog: dialog, from: text(event.from_user), to: text(event.request_user),
            sdp: event.sdp.map { String(cString: $0) }, outboundID: event.outbound_id.map { String(cString: $0) },
            source: text(event.source),
            contentType: event.body == nil ? nil : event.content_type.map { String(cString: $0) })
        incoming.authorization = (event.authorization ?? event.proxy_authorization).map { String(cString: $0) }
        incoming.rejectsSDP = event.rejects_sdp != 0
        incoming.agent = event.agent.map { String(cString: $0) }
        incoming.assertedIdentity = event.asserted.map { String(cString: $0) }
        if let replaces = event.replaces {
            if let found = csofia_replaced(agent, replaces) {
                incoming.replaces = calls[Int(bitPattern: csofia_context(found))]?.dialog
                csofia_unreference(found)
            }
            incoming.replacesUnknown = incoming.replaces == nil
            // The Call-ID is random, and nobody else has seen it yet.
            incoming.isFromOurselves = calls.values.contains {
                $0.isToOurselves && !$0.isAnswered && $0.dialog.callID == dialog.callID
            }
            incoming.replacesEarlyOnly = String(cString: replaces).lowercased().contains(";early-only")
        }
        csofia_bind(call, UnsafeMutableRawPointer(bitPattern: id))
        // In place before the owner can answer: his commands come by `post`, after this event.
        let entry = Entry(call: call, dialog: dialog, credentials: nil, isIncoming: true, onEvent: { _ in })
        calls[id] = entry
        guard let owner = handlers.incoming(incoming) else {
            csofia_respond(call, 404, nil, nil)
            return
        }
        entry.onEvent = owner
    }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
}
