import Bridge
import Foundation
import Logging
import Net
import Pipeline
import Realtime
import Store
import Synchronization
import TestSupport
import Testing

@testable import Calls

/// A server with one loop, a speech model and telephones in virtual time. Calls run from INVITE to BYE without a
/// socket.
final class SIPWorld {
    let loop: EventLoop
    let network = VirtualNetwork()
    let phones: ScriptedPhones
    let streams = ScriptedStreams()
    let model = ScriptedModel()
    let operators: OperatorDirectory
    let store: CallStore
    let line: CallLine
    let settings: CallSettings
    private let folder: String
    /// How long one of the server's own tasks may take, seconds of the clock: it writes to the disk.
    private static let patience = 20

    init(_ change: (inout CallSettings) -> Void = { _ in }) throws {
        loop = try EventLoop.manual()
        phones = ScriptedPhones(on: loop, network: network)
        folder = NSTemporaryDirectory() + "sip-world-\(UInt32.random(in: .min ... .max))"
        store = try CallStore(folder: folder)
        var settings = CallSettings()
        settings.savesRecording = false
        settings.retry.isEnabled = false
        settings.routing.gateway = .sip([.init(address: "127.0.0.1:5070"), .init(address: "127.0.0.1:5071")])
        change(&settings)
        self.settings = settings
        operators = OperatorDirectory(realm: "test", algorithms: [.md5], plan: settings.routing.plan)
        var line = CallLine(
            userAgent: phones, modes: { [model] _, _ in [.realtime(model)] }, voice: { _, _ in ScriptedVoice() },
            operators: operators, store: store, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        line.network = network
        line.streams = streams
        self.line = line
    }

    deinit {
        loop.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// One call of the server's.
    struct Running {
        let id: String
        let attempt: SIPAttempt
        fileprivate let isOver = Flag()
    }
    fileprivate final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }
        func set() { value.withLock { $0 = true } }
    }

    // MARK: Calls

    private static let brief = Brief(
        purpose: "to ask", questions: [Question(id: "q1", text: "Will you come?")], maxTurns: 50)

    /// Stores a call, has the policy route it, and dials.
    func dial(_ number: String = "01012345678", stream: Call.Stream? = nil) async throws -> Running {
        let call = Call(
            localNumber: "025550100", remoteNumber: number, brief: Self.brief, maxRetries: 0, stream: stream,
            createdAt: Date())
        _ = try await store.insert(call, events: [])
        guard
            case .dial(let admitted, .sip(let route)) = try await store.admit(call.id, by: settings.policy, at: Date())
        else { throw NetError(.unavailable, "the call is not dialled") }
        return begin(admitted, .out(route))
    }

    /// A phone calls us.
    func arrive(for known: Operator? = nil) throws -> (Running, ScriptedPhone) {
        let (phone, incoming) = try phones.call(from: "0255501234", to: "01098765432")
        var brief = Self.brief
        brief.isIncoming = true
        let record = Call(
            arrivalOf: incoming.dialog.callID, from: incoming.from, to: incoming.to,
            at: .init(person: known, brief: brief), maxDuration: 300, createdAt: Date())
        let person = known.flatMap { line.target($0, settings) }
        return (begin(record, .incoming(incoming, person: person)), phone)
    }

    private func begin(_ call: Call, _ way: SIPAttempt.Way) -> Running {
        let running = Running(
            id: call.id,
            attempt: SIPAttempt(
                loop: loop, call: call, way: way, line: line, settings: settings, now: { Date() }))
        Task(executorPreference: loop) { [attempt = running.attempt, isOver = running.isOver] in
            await attempt.run()
            isOver.set()
        }
        loop.run {}
        return running
    }

    /// The record of a call that ends, once all of it is stored.
    func record(of call: Running) async throws -> Call {
        let limit = ContinuousClock.now + .seconds(Self.patience)
        while !call.isOver.isSet, ContinuousClock.now < limit {
            loop.run {}
            await Task.yield()
        }
        #expect(call.isOver.isSet, "the call does not end")
        #expect(network.openPorts == 0, "RTP ports are left behind")
        return try #require(try await store.call(call.id))
    }

    /// In order.
    func events(of call: Running) async throws -> [CallEvent] {
        try await store.events(after: 0, of: call.id)
    }

    func onCall(_ call: Running, _ body: @Sendable (isolated SIPAttempt) -> Void) {
        loop.run { call.attempt.assumeIsolated { body($0) } }
    }

    // MARK: Operators

    /// An operator whose telephone is called at its address.
    func hire(_ name: String) -> Operator {
        var known = Operator(name: name, sipUser: name, createdAt: Date())
        known.address = "sip:\(name)@127.0.0.1:5090"
        operators.replace(operators.all(.default) + [known])
        return known
    }

    // MARK: The model and time

    var session: ScriptedSession? { model.session }

    func say(_ text: String, ms: Int, tool: (name: String, arguments: String)? = nil) {
        loop.run { model.session?.say(text, ms: ms, tool: tool) }
    }

    /// The caller's turn is over: what it was, and what the model says to it.
    func answerTurn(_ heard: String, _ text: String, ms: Int) {
        loop.run {
            model.session?.tell(.callerTranscript(text: heard, startMs: nil, endMs: nil))
            model.session?.say(text, ms: ms, isRequested: false)
        }
    }

    /// What the model has been asked for and told, but for the caller's sound.
    var told: Int { model.session?.told.count ?? 0 }

    /// Waits until something is so; false after `limitMs`.
    func wait(_ limitMs: Int = 10_000, until condition: () -> Bool) -> Bool {
        var passed = 0
        while !condition(), passed < limitMs {
            loop.advance(ms: 20)
            passed += 20
        }
        return condition()
    }
}
