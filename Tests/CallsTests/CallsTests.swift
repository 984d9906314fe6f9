import Foundation
import Pipeline
import Realtime
import Store
import Synchronization
import Testing

@testable import Calls

@Suite struct CallStateMachineTests {
    @Test func theUsualWay() throws {
        var machine = CallStateMachine()
        for (event, state) in [
            (.dial, .dialing), (.ringing, .ringing), (.answered, .connected),
            (.conversationEnded(isFailure: false), .completed), (.retry, .queued),
        ]
            as [(CallStateMachine.Event, CallState)]
        {
            let next = try machine.apply(event)
            #expect(next == state)
        }
    }
    @Test func anAttemptThatWillBeRepeatedIsQueuedAgain() throws {
        var machine = CallStateMachine(.ringing)
        let next = try machine.apply(.attemptEnded(.busy, willRetry: true))
        #expect(next == .queued)
    }
    @Test func everyTerminalStateRefusesEverythingButRetry() {
        let events: [CallStateMachine.Event] = [
            .dial, .ringing, .answered, .attemptEnded(.busy, willRetry: false), .conversationEnded(isFailure: false),
            .cancel, .recovered,
        ]
        for state in CallState.allCases where state.isTerminal {
            for event in events {
                #expect(throws: CallStateMachine.ImpossibleTransition.self) {
                    var machine = CallStateMachine(state)
                    try machine.apply(event)
                }
            }
        }
    }
    @Test(arguments: [
        (408, CallState.noAnswer), (480, .noAnswer), (486, .busy), (600, .busy), (603, .rejected), (607, .rejected),
        (608, .rejected), (403, .failed),
        (404, .failed), (500, .failed), (503, .failed), (302, .failed), (904, .failed),
    ])
    func finalCodesHaveTheirState(code: Int, state: CallState) {
        #expect(AttemptOutcome(sipStatus: code, phrase: "x").state == state)
    }
}

@Suite struct DialQueueTests {
    private let start = Date(timeIntervalSince1970: 1_000_000)
    private func entry(
        _ id: String, priority: Int = 5, after: TimeInterval = 0, notBefore: TimeInterval? = nil, callee: String? = nil
    )
        -> DialQueue.Entry
    {
        .init(
            callID: id, priority: priority, createdAt: start.addingTimeInterval(after),
            notBefore: notBefore.map { start.addingTimeInterval($0) },
            callee: callee ?? id)
    }
    private func order(_ queue: DialQueue, at: TimeInterval, busy: Set<String> = []) -> [String] {
        var queue = queue
        var result: [String] = []
        while let next = queue.next(at: start.addingTimeInterval(at), busyCallees: busy) {
            result.append(next.callID)
        }
        return result
    }
    @Test func byPriorityThenAge() {
        var queue = DialQueue(priorityAgeing: 600)
        for item in [entry("a"), entry("b", priority: 9, after: 2), entry("c", after: 1)] { queue.add(item) }
        #expect(order(queue, at: 3) == ["b", "a", "c"])
    }
    @Test func waitingRaisesThePriority() {
        var queue = DialQueue(priorityAgeing: 600)
        queue.add(entry("old", priority: 5))
        queue.add(entry("new", priority: 6, after: 1_300))
        #expect(order(queue, at: 1_300) == ["old", "new"])
    }
    @Test func whatIsNotDueWaits() {
        var queue = DialQueue(priorityAgeing: 600)
        queue.add(entry("later", priority: 10, notBefore: 60))
        queue.add(entry("now"))
        #expect(order(queue, at: 0) == ["now"])
        #expect(order(queue, at: 60) == ["later", "now"])
        #expect(queue.nextDue(after: start) == start.addingTimeInterval(60))
    }
    @Test func aCalleeIsNotDialledTwiceAtOnce() {
        var queue = DialQueue(priorityAgeing: 600)
        queue.add(entry("a", callee: "x"))
        #expect(order(queue, at: 0, busy: ["x"]) == [])
    }
}

extension Routing.Route {
    fileprivate var uri: String? { if case .sip(let route) = self { route.requestURI } else { nil } }
}

@Suite struct RoutingTests {
    private func routing(_ change: (inout Routing) -> Void = { _ in }) -> Routing {
        var routing = Routing()
        change(&routing)
        return routing
    }
    private func code(_ body: () throws(Routing.Refusal) -> Void) -> Routing.Refusal.Code? {
        do throws(Routing.Refusal) { try body() } catch { return error.code }
        return nil
    }
    @Test func numbersGoThroughTheGateway() throws {
        let routing = routing { $0.gateway = .sip([.init(address: "10.1.2.3:5070")]) }
        #expect(try routing.route(to: "010-9876 5432").uri == "sip:01098765432@10.1.2.3:5070")
        #expect(try routing.route(to: "+82 10 9876 5432").uri == "sip:+821098765432@10.1.2.3:5070")
        #expect(code { () throws(Routing.Refusal) in _ = try self.routing().route(to: "01098765432") } == .noRoute)
    }
    @Test func carriersTakeNumbersInE164() throws {
        let routing = routing { $0.gateway = .carrier("twilio") }
        let route = try routing.route(to: "+82 10-9876-5432")
        #expect(route == .carrier("twilio", to: "+821098765432"))
        #expect(try routing.route(to: "010-9876-5432") == route)
        #expect(code { () throws(Routing.Refusal) in try routing.checkCaller("555 01", for: route) } == .invalid)
        #expect(code { () throws(Routing.Refusal) in try routing.checkCaller("+82 2 555 0100", for: route) } == nil)
        #expect(try routing.route(to: "sip:bob@127.0.0.1").uri == "sip:bob@127.0.0.1")
    }
    @Test(arguments: ["911", "119", "1-1-2"]) func emergencyNumbersAreNeverDialled(number: String) {
        let routing = routing { $0.gateway = .sip([.init(address: "10.1.2.3")]) }
        #expect(code { () throws(Routing.Refusal) in _ = try routing.route(to: number) } == .emergency)
    }
    @Test(arguments: [
        "sip:x", "sip:@127.0.0.1", "sip:a b@127.0.0.1", "sip:a@127.0.0.1:0", "sip:a@127.0.0.1:x", "sip:a@b@c", "12",
        "abc",
        "sip:a@127.0.0.1;transport=tcp", "+1234567890123456",
    ])
    func badCalleesAreInvalid(callee: String) {
        #expect(code { () throws(Routing.Refusal) in _ = try routing().route(to: callee) } == .invalid)
    }
    @Test func sipHostsAreAllowListed() throws {
        #expect(try routing().route(to: "sip:bob@127.0.0.1:5090").uri == "sip:bob@127.0.0.1:5090")
        #expect(code { () throws(Routing.Refusal) in _ = try routing().route(to: "sip:bob@example.org") } == .noRoute)
        #expect(
            code { () throws(Routing.Refusal) in _ = try routing().route(to: "sip:bob@127.example.org") } == .noRoute)
        #expect(
            try routing { $0.sipHosts = ["example.org"] }.route(to: "sip:bob@example.org").uri == "sip:bob@example.org")
    }
    @Test func callersAreWhitelisted() {
        #expect(code { () throws(Routing.Refusal) in try routing().checkCaller("02 555 0100") } == nil)
        let strict = routing { $0.allowedCallers = ["+8225550100"] }
        #expect(code { () throws(Routing.Refusal) in try strict.checkCaller("+82 2 555 0100") } == nil)
        #expect(
            code { () throws(Routing.Refusal) in try strict.checkCaller("02-555-0100") } == nil, "spelled otherwise")
        #expect(code { () throws(Routing.Refusal) in try strict.checkCaller("025550101") } == .callerNotAllowed)
        #expect(
            code { () throws(Routing.Refusal) in try routing { $0.isBoundToLoopback = false }.checkCaller("025550100") }
                == .callerNotAllowed)
    }
}

@Suite struct RetryPolicyTests {
    private func call(attempts: Int, maxRetries: Int = 2, retryOnNoAnswer: Bool = true) -> Call {
        var call = Call(
            localNumber: "1", remoteNumber: "2",
            brief: Brief(purpose: "p", questions: [Question(id: "q1", text: "A?")]),
            retryOnNoAnswer: retryOnNoAnswer,
            maxRetries: maxRetries, createdAt: Date())
        call.state = .ringing
        call.attemptsThisRound = attempts
        call.attempts = [.init(startedAt: Date())]
        return call
    }
    @Test func busyIsTriedAgainThenEnds() throws {
        let policy = RetryPolicy(.init())
        var first = call(attempts: 1)
        let events = try policy.conclude(
            &first, with: AttemptOutcome(state: .busy, code: 486, reason: "busy"), at: Date())
        #expect(
            first.state == .queued && first.nextAttemptAt != nil
                && events.map(\.name) == ["outbound_attempt_failed", "outbound_retry_scheduled"])
        var last = call(attempts: 3)
        let final = try policy.conclude(
            &last, with: AttemptOutcome(state: .busy, code: 486, reason: "busy"), at: Date())
        #expect(last.state == .busy && final.map(\.name) == ["outbound_attempt_failed", "outbound_failed"])
        #expect(last.answers.map(\.status) == [.notAsked])
    }
    @Test func whatIsNotToBeRetriedIsNot() {
        let policy = RetryPolicy(.init())
        #expect(!policy.retries(call(attempts: 1), after: .rejected))
        #expect(!policy.retries(call(attempts: 1, retryOnNoAnswer: false), after: .noAnswer))
        #expect(!policy.retries(call(attempts: 1, maxRetries: 0), after: .busy))
    }
}

/// A real SQLite file.
@Suite struct CallStoreTests {
    private func folder() -> String { NSTemporaryDirectory() + "trunkline-test-" + UUID().uuidString }
    private func call(_ purpose: String = "p") -> Call {
        Call(
            localNumber: "025550100", remoteNumber: "01012345678",
            brief: Brief(purpose: purpose, questions: [Question(id: "q1", text: "A?")]),
            createdAt: Date())
    }
    private func event(_ call: Call) -> CallEvent {
        CallEvent(name: "outbound_queued", at: Date(), callID: call.id, direction: call.direction, payload: "{}")
    }

    @Test func callsSurviveAndPage() async throws {
        let folder = folder()
        let store = try CallStore(folder: folder)
        var ids: [String] = []
        for index in 0..<7 {
            let call = call("purpose 100%_\(index)")
            ids.append(call.id)
            #expect(try await store.insert(call, events: [event(call)]) == .stored)
        }
        store.close()
        let again = try CallStore(folder: folder)
        var filter = CallFilter()
        filter.limit = 3
        let first = try await again.page(filter)
        #expect(first.items.map(\.id) == ids.reversed().prefix(3).map(\.self) && first.total == 7)
        filter.cursor = first.nextCursor
        let second = try await again.page(filter)
        #expect(second.items.map(\.id) == Array(ids.reversed()[3..<6]))
        filter = CallFilter()
        filter.search = "100%_3"
        #expect(try await again.page(filter).items.map(\.id) == [ids[3]])
        filter.search = "+82 10 1234 5678"
        #expect(try await again.page(filter).total == 7, "a number is found whole, however it is spelled")
        filter.search = "5678"
        #expect(try await again.page(filter).total == 7, "and by its last four digits")
        filter.search = "1234"
        #expect(try await again.page(filter).total == 0)
        again.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func anImpossibleChangeStoresNothing() async throws {
        let folder = folder()
        let store = try CallStore(folder: folder)
        let call = call()
        _ = try await store.insert(call, events: [event(call)])
        await #expect(throws: StoreError.self) {
            try await store.update(call.id) { call in
                call.brief.purpose = "changed"
                try call.apply(.answered)
                return [CallEvent(name: "x", at: Date(), callID: call.id, direction: call.direction, payload: "{}")]
            }
        }
        #expect(try await store.call(call.id)?.brief.purpose == "p")
        #expect(try await store.events(after: 0).map(\.name) == ["outbound_queued"])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func watchersSeeWhatIsStoredInOrder() async throws {
        let folder = folder()
        let store = try CallStore(folder: folder)
        let live = store.feed.watch()
        let call = call()
        _ = try await store.insert(call, events: [event(call)])
        try await store.update(call.id) { call in
            try call.apply(.dial)
            return [
                CallEvent(
                    name: "outbound_dialing", at: Date(), callID: call.id, direction: call.direction, payload: "{}")
            ]
        }
        var names: [String] = []
        for await event in live {
            names.append(event.name)
            if names.count == 2 { break }
        }
        #expect(names == ["outbound_queued", "outbound_dialing"])
        store.close()
        try FileManager.default.removeItem(atPath: folder)
    }

    @Test func aFolderThatCannotBeMadeIsAnErrorThatSaysSo() {
        let error = #expect(throws: StoreError.self) { _ = try CallStore(folder: "/proc/nowhere/data") }
        #expect(error?.code == .cannotOpen && error?.message.contains("/proc/nowhere/data") == true)
    }

    @Test func aDamagedFileIsAnErrorThatSaysSo() throws {
        let folder = folder()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(repeating: 7, count: 10_000).write(to: URL(fileURLWithPath: folder + "/calls.sqlite"))
        let error = #expect(throws: StoreError.self) { _ = try CallStore(folder: folder) }
        #expect(error?.message.contains("damaged") == true)
        try FileManager.default.removeItem(atPath: folder)
    }
}

@Suite struct RecordingTests {
    @Test func callerLeftAIRight() async throws {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".wav"
        nonisolated(unsafe) let recording = try Recording(path: path)  // used by this test alone
        var left = EncodedFrame()
        var right = EncodedFrame()
        for index in left.bytes.indices {
            left.bytes[index] = MuLaw.encode(1_000)
            right.bytes[index] = MuLaw.encode(-2_000)
        }
        recording.caller(left, now: 120)
        recording.ai(right, startMs: 200)
        await withCheckedContinuation { continuation in recording.finish(now: 300) { continuation.resume() } }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(data.count == 44 + 300 * 8 * 4)
        func sample(_ ms: Int, right: Bool) -> Int16 {
            let at = 44 + ms * 8 * 4 + (right ? 2 : 0)
            return Int16(bitPattern: UInt16(data[at]) | UInt16(data[at + 1]) << 8)
        }
        #expect(sample(110, right: false) > 900 && sample(110, right: true) == 0)
        #expect(sample(210, right: true) < -1_900 && sample(230, right: true) == 0 && sample(90, right: false) == 0)
        try FileManager.default.removeItem(atPath: path)
    }

    /// The caller's clock is 1 % off, so that 40 s do what an hour and 100 parts in a million do: what was said at a
    /// second stands there.
    @Test(arguments: [-1, 1]) func aClockThatDiffersMovesNothing(percent: Int) async throws {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".wav"
        nonisolated(unsafe) let recording = try Recording(path: path)  // used by this test alone
        var loud = EncodedFrame(), spoken: [Int] = []
        for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(8_000) }
        var now = 20.0, frames = 0
        while now < 40_000 {
            // A click of 20 ms every two seconds of the caller's.
            if frames % 100 == 50 { spoken.append(Int(now) - 20) }
            recording.caller(frames % 100 == 50 ? loud : EncodedFrame(), now: Int(now))
            if frames % 50 == 0 { recording.flush(now: Int(now)) }
            frames += 1
            now += 20 * (1 - Double(percent) / 100)
        }
        await withCheckedContinuation { continuation in recording.finish(now: 40_000) { continuation.resume() } }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(data.count == 44 + 40_000 * 8 * 4)
        var heard: [Int] = [], last = -1_000
        for ms in 0..<40_000 where data[44 + ms * 32] != 0 || data[45 + ms * 32] != 0 {
            if ms - last > 100 { heard.append(ms) }
            last = ms
        }
        #expect(
            heard.count == spoken.count && zip(heard, spoken).allSatisfy { abs($0 - $1) <= Recording.realignMs + 20 })
        try FileManager.default.removeItem(atPath: path)
    }
}

@Suite struct StreamTicketTests {
    @Test func onceForItsCallWithinAMinute() {
        let clock = Clock()
        let tickets = StreamTickets(nowMs: { clock.ms })
        let ticket = StreamTickets.Ticket(providerCallID: "CA1", callID: "in-1")
        let first = tickets.issue(ticket)
        #expect(tickets.redeem(first, providerCallID: "CA1") == ticket)
        #expect(tickets.redeem(first, providerCallID: "CA1") == nil, "used")
        #expect(tickets.redeem(tickets.issue(ticket), providerCallID: "CA2") == nil, "another call's")
        let late = tickets.issue(ticket)
        clock.ms += StreamTickets.lifetimeMs
        #expect(tickets.redeem(late, providerCallID: "CA1") == nil, "expired")
        #expect(tickets.redeem("", providerCallID: "") == nil)
    }

    @Test func oneThatWasNotUsedIsTakenBack() {
        let tickets = StreamTickets(nowMs: { 1 })
        let token = tickets.issue(.init(providerCallID: "CA1", callID: "ob-1"))
        #expect(
            !tickets.revoke(providerCallID: "CA2") && tickets.revoke(providerCallID: "CA1")
                && !tickets.revoke(providerCallID: "CA1"))
        #expect(tickets.redeem(token, providerCallID: "CA1") == nil)
    }

    private final class Clock: Sendable {
        private let stored = Mutex<UInt64>(1_000)
        var ms: UInt64 {
            get { stored.withLock { $0 } }
            set { stored.withLock { $0 = newValue } }
        }
    }
}
