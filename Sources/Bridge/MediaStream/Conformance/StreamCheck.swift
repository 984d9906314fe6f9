internal import Foundation
public import Net
public import Pipeline

/// What is to be checked.
public struct CheckPlan: Sendable {
    public var dialect: any MediaStreamDialect.Type
    /// One of the dialect's; nil: its first.
    public var format: WireFormat?
    /// Of a token that lets the stream in; it is put where the dialect has its first place for one.
    public var token: String?
    /// Signs the upgrade of `url`, the server's own, where the carrier does so; see `DialectTraits.sign`.
    public var secret: String?
    public var url: WebSocketURL?
    public var headers: [(name: String, value: String)] = []
    public var parameters: [String: String] = [:]
    /// Of the URL, as the carrier sees it.
    public var query: [(name: String, value: String)] = []
    /// Milliseconds of the conversation, before the tests at its end.
    public var limitMs: UInt64 = 20_000
    /// What the kit says.
    public var speech: [EncodedFrame]

    public init(_ dialect: any MediaStreamDialect.Type, speech: [EncodedFrame]) {
        self.dialect = dialect
        self.speech = speech
    }

    /// Whether the dialect's carrier makes a signature of this.
    public func canSign(_ secret: String) -> Bool {
        url.map { dialect.canSign($0, token: token, secret: secret) } ?? false
    }
}

/// What came of a check.
public struct CheckReport: Sendable {
    public struct Row: Sendable {
        public var rule: ConformanceRule
        public var finding: Finding
    }
    public var rows: [Row]
    public var facts: StreamFacts

    public func count(_ verdict: Finding.Verdict) -> Int { rows.count { $0.finding.verdict == verdict } }
}

/// Plays a carrier to a server and judges what the server does. Confined to its loop.
public final class StreamCheck {
    /// Milliseconds from the open connection to the begin of the stream: what a server says before is too early.
    static let beginMs: UInt64 = 200
    /// Milliseconds after the stream's begin within which a close means that it was not let in.
    static let letInMs: UInt64 = 1_000
    /// Milliseconds after a test within which a close is blamed on it.
    static let toleranceMs: UInt64 = 600
    /// Milliseconds for sound that is on its way when the stream ends.
    static let graceMs: UInt64 = 1_000
    /// Milliseconds for the far end to answer a close frame.
    static let closeLimitMs: UInt64 = 3_000
    /// Milliseconds that a stream without a valid token is watched.
    static let trialMs: UInt64 = 4_000
    /// Milliseconds from one ping to the next.
    static let pingEveryMs: UInt64 = 2_000
    /// Names of messages that are counted.
    private static let nameLimit = 64

    private let plan: CheckPlan
    private let declared: DialectConformance
    private let loop: EventLoop
    private let dialer: any StreamDialer
    private let start: StreamStart
    private let done: (CheckReport) -> Void
    private var judge: ConformanceJudge
    private var facts = StreamFacts()
    private var script: CheckScript?
    private var line: CarrierLine?
    private var socket: ObservedSocket?
    private var pings: () -> (sent: Int, answered: Int) = { (0, 0) }
    private var openedAt: UInt64 = 0
    private var numbers = (carrier: 0, application: 0)
    private var hadProblem = false
    private var keeper: StreamCheck?

    /// - Parameter done: called once, on the loop.
    public init(
        _ plan: CheckPlan, on loop: EventLoop, dialer: any StreamDialer, _ done: @escaping (CheckReport) -> Void
    ) {
        self.plan = plan
        declared = plan.dialect.conformance
        self.loop = loop
        self.dialer = dialer
        self.done = done
        judge = ConformanceJudge(plan.dialect)
        start = Self.start(plan)
    }

    /// Ids as the dialect's carrier makes them.
    private static func start(_ plan: CheckPlan) -> StreamStart {
        func id(_ prefix: String?) -> String {
            let uuid = UUID().uuidString.lowercased()
            return prefix.map { $0 + uuid.replacing("-", with: "") } ?? uuid
        }
        let prefixes = plan.dialect.conformance.shape.idPrefixes
        return StreamStart(
            streamID: id(prefixes?.stream), callID: id(prefixes?.call), parameters: plan.parameters)
    }

    // MARK: The connection

    private struct Carried {
        var attempt: StreamAttempt
        var options: DialectOptions
        var start: StreamStart
    }

    /// - Parameters:
    ///   - token: nil: none.
    ///   - secret: nil: no signature.
    private func carried(_ token: String?, secret: String?) -> Carried {
        var start = start
        var attempt = StreamAttempt()
        var headers = (plan.dialect.headers(of: start) + plan.headers).map { ($0.name, $0.value) }
        if let token, let place = plan.dialect.traits.tokens.first {
            place.put(token, parameters: &start.parameters, headers: &headers, query: &attempt.query)
        }
        attempt.headers = headers.map { (name: $0.0.lowercased(), value: $0.1) }
        if let secret, let url = plan.url, let sign = plan.dialect.traits.sign {
            attempt.headers += sign(SignedUpgrade(url, adding: attempt.query, headers: attempt.headers), secret)
        }
        attempt.subprotocols = plan.dialect.traits.subprotocols.first.map { [$0] } ?? []
        let handshake = WebSocket.Handshake(
            path: "/", query: plan.query + attempt.query,
            headers: Dictionary(attempt.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }), peer: "")
        let options = DialectOptions(
            role: .carrier, streamID: start.streamID, format: plan.format, handshake: handshake)
        return Carried(attempt: attempt, options: options, start: start)
    }

    /// Begins; keeps itself alive until it is done.
    public func run() {
        keeper = self
        let carried = carried(plan.token, secret: plan.secret)
        let dialled = loop.timeMs
        facts.offered = carried.attempt.subprotocols
        dialer.dial(carried.attempt) { [self] outcome in
            facts.upgradeMs = loop.timeMs - min(loop.timeMs, dialled)
            switch outcome {
            case .open(let socket, let subprotocol, let pings):
                facts.chosen = subprotocol
                self.pings = pings
                talk(over: socket, carried)
            case .refused(let status):
                facts.refusedStatus = status
                tryTokens()
            case .broken(let reason):
                facts.failure = reason
                finish()
            case .failed(let reason):
                facts.unreachable = reason
                finish()
            }
        }
    }

    private func talk(over socket: any MessageSocket, _ carried: Carried) {
        openedAt = loop.timeMs
        socket.configuration.pingEveryMs = Self.pingEveryMs
        let observed = ObservedSocket(socket) { [weak self] bytes, kind, sender in
            self?.observe(bytes, kind, sender)
        }
        self.socket = observed
        let line: CarrierLine
        do throws(MediaStreamError) {
            line = try CarrierLine(observed, plan.dialect, carried.options, carried.start)
        } catch {
            facts.failure = error.reason
            return finish()
        }
        self.line = line
        line.stream.onMalformed = { [weak self] in self?.misunderstood($0) }
        line.onBegin = { [weak self] in self?.begun() }
        line.onTick = { [weak self] now in self?.ticked(now) }
        line.onSound = { [weak self] in self?.heard() }
        line.onClear = { [weak self] in self?.cleared() }
        line.onAsked = { [weak self] in self?.asked() }
        let report = observed.onClose
        observed.onClose = { [weak self, unowned observed] code, reason in
            self?.closed(with: code)
            report?(code, reason)
            observed.onClose = nil
        }
        line.begin(after: Self.beginMs)
    }

    private func begun() {
        let now = sinceOpen()
        facts.startedMs = now
        facts.probes[.silence] = now
        script = CheckScript(
            at: now, speechMs: UInt64(plan.speech.count * EncodedFrame.milliseconds), limitMs: plan.limitMs)
    }

    private func sinceOpen(_ now: UInt64? = nil) -> UInt64 {
        let now = now ?? loop.timeMs
        return now - min(now, openedAt)
    }

    // MARK: What is seen

    private func observe(_ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, _ sender: WireMessage.Sender) {
        let isCarrier = sender == .carrier
        if isCarrier { numbers.carrier += 1 } else { numbers.application += 1 }
        // Our own sound says nothing of the far end.
        if isCarrier, line?.isSendingSound ?? false { return }
        let message = WireMessage(
            bytes, kind, from: sender, number: isCarrier ? numbers.carrier : numbers.application, atMs: sinceOpen(),
            judge.context.shape)
        hadProblem = !judge.hear(message).isEmpty
        guard !isCarrier else { return }
        if let name = message.name, facts.heard[name] != nil || facts.heard.count < Self.nameLimit {
            facts.heard[name, default: 0] += 1
        }
        guard let sound = message.sound, let format = judge.context.format else { return }
        facts.look.look(at: sound, format)
        guard let end = facts.stoppedMs ?? facts.weClosedMs, message.atMs > end + Self.graceMs else { return }
        facts.soundAfterStop += 1
    }

    private func misunderstood(_ error: MediaStreamError) {
        if error.refusal != nil { facts.gaveUp = true }
        guard !hadProblem else { return }
        facts.misunderstood += 1
        facts.misunderstoodReason = facts.misunderstoodReason ?? error.reason
    }

    private func ticked(_ now: UInt64) { act(script?.tick(at: sinceOpen(now)) ?? []) }
    private func cleared() { act(script?.cleared(at: sinceOpen()) ?? []) }

    private func asked() {
        if facts.stoppedMs == nil, facts.weClosedMs == nil { facts.askedMs = facts.askedMs ?? sinceOpen() }
        act(script?.asked(at: sinceOpen()) ?? [])
    }

    private func heard() {
        guard let line else { return }
        let now = sinceOpen()
        let playsUntil = sinceOpen(line.playsUntil)
        facts.longestAheadMs = max(facts.longestAheadMs, playsUntil - min(playsUntil, now))
        if facts.firstSoundMs == nil { facts.firstSoundMs = now }
        act(script?.heard(at: now, playsUntil: playsUntil) ?? [])
    }

    // MARK: What is done

    private func act(_ actions: [CheckScript.Action]) {
        for action in actions {
            switch action {
            case .speak: line?.say(plan.speech)
            case .hush: line?.say([])
            case .probe(let probe): test(probe)
            case .judge(let bargeIn): facts.bargeIn = bargeIn
            case .answered(let ms): facts.answerMs.append(ms)
            case .stop: stop()
            case .close: close()
            case .finish: closed(with: nil)
            }
        }
    }

    private func test(_ probe: StreamFacts.Probe) {
        let isSent: Bool
        switch probe {
        case .silence: isSent = true
        case .dtmf: isSent = line?.stream.send(.dtmf("1")) ?? false
        case .unknown:
            let text = Array((declared.unknown ?? "").utf8)
            isSent =
                !text.isEmpty
                && socket?.send(.text, capacity: text.count) { $0.update(fromContentsOf: text) } ?? false
        }
        if isSent { facts.probes[probe] = sinceOpen() }
    }

    private func stop() {
        if line?.stream.send(.stop) ?? false { return facts.stoppedMs = sinceOpen() }
        script?.closed(at: sinceOpen())
        close()
    }

    private func close() {
        facts.weClosedMs = sinceOpen()
        socket?.close(code: 1_000)
    }

    /// - Parameter code: nil: it is not, but is no longer waited for.
    private func closed(with code: Int?) {
        guard let line else { return }
        line.end()
        self.line = nil
        script = nil
        if code != nil { facts.closedMs = sinceOpen() }
        facts.closeCode = code
        let counts = pings()
        (facts.pings, facts.pongs) = (counts.sent, counts.answered)
        tryTokens()
    }

    // MARK: Tokens

    private func tryTokens() {
        guard plan.token != nil else { return trySignatures() }
        attempt(wrong, plan.secret) { [self] outcome in
            facts.wrongToken = outcome
            attempt(nil, plan.secret) { [self] outcome in
                facts.noToken = outcome
                trySignatures()
            }
        }
    }

    private func trySignatures() {
        guard plan.secret != nil, plan.dialect.traits.sign != nil else { return finish() }
        // Base64, which some secrets are.
        attempt(plan.token, Data(wrong.utf8).base64EncodedString()) { [self] outcome in
            facts.wrongSignature = outcome
            attempt(plan.token, nil) { [self] outcome in
                facts.noSignature = outcome
                finish()
            }
        }
    }

    private var wrong: String { "wrong-" + UUID().uuidString }

    private func attempt(_ token: String?, _ secret: String?, _ done: @escaping (StreamFacts.Trial) -> Void) {
        let carried = carried(token, secret: secret)
        dialer.dial(carried.attempt) { [self] outcome in
            switch outcome {
            case .refused(let status): done(.refused(status: status))
            case .broken(let reason), .failed(let reason): done(.failed(reason))
            case .open(let socket, _, _):
                let trial = TokenTrial(socket, limitMs: Self.trialMs, done)
                if !trial.begin(plan.dialect, carried.options, carried.start) { done(.failed("no stream")) }
            }
        }
    }

    private func finish() {
        let facts = facts
        let rows = judge.rules.indices.map { index in
            CheckReport.Row(rule: judge.rules[index], finding: judge.finding(of: index, facts))
        }
        done(CheckReport(rows: rows, facts: facts))
        keeper = nil
    }
}
