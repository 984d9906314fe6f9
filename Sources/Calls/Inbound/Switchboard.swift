public import Bridge
public import Foundation
internal import Logging
public import Net
public import Realtime
internal import Synchronization

/// Calls that come in, and what is done with them.
public struct InboundSettings: Sendable {
    public var isEnabled = true
    /// Numbers of the AI, in any spelling; nil: every number.
    public var numbers: [String]?
    /// Addresses whose INVITEs are taken, IPv4; nil: all.
    public var trustedSources: Set<String>?
    public var maxConcurrentCalls = 20
    /// Seconds that it rings.
    public var ringSeconds = 1.0
    /// Seconds after which a caller who finds no room should try again.
    public var retryAfterSeconds = 30
    public var brief = InboundSettings.messageTaking
    public init() {}

    /// What is done where nothing else is configured: a message is taken.
    public static let messageTaking = Brief(
        purpose: "You answer a call for somebody who cannot take it. Take a message.",
        questions: [
            Question(id: "q1", text: "What is your call about?"), Question(id: "q2", text: "Should we call you back?", kind: .boolean),
        ], greetingTemplate: "Hello, nobody can take your call right now. I am an automated assistant, and I take a message.")
}

/// Takes calls that come in over SIP: refuses what must be refused, and lets the AI answer the rest.
///
/// Decisions are made on the SIP thread, where nothing may wait; each call then lives on its event loop.
public final class Switchboard: Sendable {
    private struct State {
        /// nil: not ready to answer yet.
        var line: CallLine?
        var live = 0
        var next = 0
        var isStopping = false
    }

    private let loops: [EventLoop]
    private let settings: CallSettings
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    public init(loops: [EventLoop], settings: CallSettings, now: @escaping @Sendable () -> Date = { Date() }) {
        self.loops = loops
        self.settings = settings
        self.now = now
    }

    /// From now on calls are answered; before, callers are told to try again.
    public func open(_ line: CallLine) { state.withLock { $0.line = line } }
    /// No more calls are taken; those in progress go on.
    public func close() { state.withLock { $0.isStopping = true } }

    public var liveCount: Int { state.withLock { $0.live } }

    /// What a caller is told who is not let in (RFC 3261 §21).
    private func refusal(of call: IncomingCall) -> Int? {
        let inbound = settings.inbound
        if let trusted = inbound.trustedSources, !trusted.contains(call.source) { return 403 }
        guard inbound.isEnabled else { return 404 }
        if let numbers = inbound.numbers {
            let key = settings.routing.plan.key(call.to)
            guard numbers.contains(where: { settings.routing.plan.key($0) == key }) else { return 404 }
        }
        if let type = call.contentType, type.lowercased() != "application/sdp" { return 415 }
        return nil
    }

    /// On the SIP thread.
    /// - Returns: who hears what happens to the call; nil where it was refused.
    public func take(_ call: IncomingCall) -> (@Sendable (DialogEvent) -> Void)? {
        if let status = refusal(of: call) {
            call.dialog.reject(status, headers: status == 415 ? [("Accept", "application/sdp")] : [])
            return { _ in }
        }
        let admitted = state.withLock { state -> (CallLine, EventLoop)? in
            guard let line = state.line, !state.isStopping, state.live < settings.inbound.maxConcurrentCalls, !loops.isEmpty else { return nil }
            state.live += 1
            state.next = (state.next + 1) % loops.count
            return (line, loops[state.next])
        }
        guard let (line, loop) = admitted else {
            call.dialog.reject(503, headers: [("Retry-After", String(settings.inbound.retryAfterSeconds))])
            return { _ in }
        }
        let record = Call(incoming: call, brief: settings.inbound.brief, maxDuration: settings.maxCallDuration, at: now())
        let attempt = SIPAttempt(loop: loop, call: record, line: line, settings: settings, now: now, incoming: call)
        let id = record.outboundID
        line.calls.add(id, .init(hangUp: { await attempt.hangUp($0) }, say: { await attempt.say($0) }, edges: { await attempt.edges }))
        Task {
            await attempt.run()
            line.calls.remove(id)
            self.state.withLock { $0.live -= 1 }
        }
        return { event in loop.post { attempt.assumeIsolated { $0.handle(event) } } }
    }
}

extension Call {
    /// Came in: `outboundID` begins with `in-`, and who called stands in `calleeNumber`, as the other party of every call does.
    public var isInbound: Bool { Self.isInbound(outboundID) }

    /// Of a call's id.
    public static func isInbound(_ id: String) -> Bool { id.hasPrefix(inboundPrefix) }
    static let inboundPrefix = "in-"
    /// Characters of a caller's name.
    private static let nameLimit = 100

    init(incoming: IncomingCall, brief: Brief, maxDuration: Int, at date: Date) {
        self.init(
            outboundID: Self.inboundPrefix + Self.hex(.random(in: .min ... .max)), callerNumber: String(incoming.to.prefix(256)),
            calleeNumber: String(incoming.from.prefix(256)), brief: brief, maxDuration: maxDuration, retryOnNoAnswer: false, maxRetries: 0,
            requestedBy: "caller", createdAt: date)
        callID = String(incoming.dialog.callID.prefix(256))
        self.brief.callerDisplayName = ""
    }
}
