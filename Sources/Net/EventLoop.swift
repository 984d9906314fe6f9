internal import CLibwebsockets
internal import Foundation
internal import Synchronization

/// One libwebsockets context with its service thread, and at the same time the executor of the calls it carries.
///
/// A call belongs to one loop for life: its sockets, timers and tasks all run on this thread, so the media path needs
/// no locks and makes no thread hop. A socket callback enters an actor of this loop by `assumeIsolated`.
///
/// `@unchecked Sendable` is safe: `queue` and the atomics guard what other threads touch; everything else is only
/// touched on `thread`, which `preconditionOnLoop` checks at each entry.
public final class EventLoop: SerialExecutor, TaskExecutor, @unchecked Sendable {
    /// Jobs run in one turn before sockets and timers get theirs again.
    static let batchLimit = 256
    /// The tick of all calls of a loop, milliseconds.
    public static let tickMilliseconds = 20
    /// Calls tick in so many groups, one after the other, so that the sockets never wait for all calls of the loop.
    static let phases = 5
    static let phaseMs = UInt64(tickMilliseconds / phases)
    /// The timer may fire this much before its time, ms.
    static let earlyMs: UInt64 = 1
    /// Missed ticks are made up for over this long, ms.
    static let catchUpLimitMs: UInt64 = 1_000

    enum Item {
        case job(UnownedJob)
        case function(@Sendable () -> Void)
    }

    private struct Queue {
        var items: [Item] = []
        var isWakePending = false
        var isDead = false
    }

    public let name: String
    private let queue = Mutex(Queue())
    let threadID = Atomic<UInt>(0)
    private let stopped = DispatchSemaphore(value: 0)

    /// What a turn of the loop is made of, for the watchdog.
    enum Activity: UInt8 {
        case nothing, jobs, functions, calls, requests, clients, datagrams
        var name: String {
            switch self {
            case .nothing: "nothing"
            case .jobs: "a task of a call"
            case .functions: "a function posted to it"
            case .calls: "the 20 ms tick of its calls"
            case .requests: "a connection to our HTTP server"
            case .clients: "a WebSocket that we opened"
            case .datagrams: "RTP"
            }
        }
    }
    private let turns = Atomic<UInt64>(0)
    private let activity = Atomic<UInt8>(0)
    private let stuck = Atomic<Bool>(false)
    /// Times that the loop's timer has fired: while this grows the loop turns.
    public var turnCount: UInt64 { turns.load(ordering: .relaxed) }
    private let recentDelay = Atomic<UInt64>(0)
    /// How late the latest tick was since this was asked last, ms. From any thread.
    public func takeWorstDelayMs() -> UInt64 { recentDelay.exchange(0, ordering: .relaxed) }
    /// What the loop began last.
    var lastActivity: Activity { Activity(rawValue: activity.load(ordering: .relaxed)) ?? .nothing }
    @inline(__always) func begins(_ what: Activity) { activity.store(what.rawValue, ordering: .relaxed) }
    /// The watchdog finds that the loop does not turn.
    public internal(set) var isStuck: Bool {
        get { stuck.load(ordering: .relaxed) }
        set { stuck.store(newValue, ordering: .relaxed) }
    }

    // Confined to the loop's thread after start().
    let ev: OpaquePointer
    var context: OpaquePointer?
    private let wake = UnsafeMutablePointer<ev_async>.allocate(capacity: 1)
    private let tickTimer = UnsafeMutablePointer<ev_timer>.allocate(capacity: 1)
    /// Taken from the queue, and run up to `spareIndex`.
    private var spare: [Item] = []
    private var spareIndex = 0
    private var tickers = [[TickerBody]](repeating: [], count: EventLoop.phases)
    private var slowTickers: [TickerBody] = []
    private var phase = 0
    private var phasesRun = 0
    private var nextPhase = 0
    private var isStopping = false
    private var contextHooks: [() -> Void] = []
    var clientVhost: OpaquePointer?
    private var nextTickMs: UInt64 = 0
    /// A manual loop's time, ms; nil: the clock's (ManualTime.swift).
    var manualMs: UInt64?
    private var tickTimeMs: UInt64?

    /// Certificates (PEM) that servers we connect to are checked against; nil: the system's.
    let caFile: String?

    /// - Throws: `NetError.unavailable` if libwebsockets cannot make a context.
    public init(name: String, caFile: String? = nil) throws(NetError) {
        self.name = name
        self.caFile = caFile
        clws_set_log(0)
        ev = cev_loop_new()
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.options = clws_context_options()
        let loops = UnsafeMutablePointer<UnsafeMutableRawPointer?>.allocate(capacity: 1)
        loops.initialize(to: UnsafeMutableRawPointer(ev))
        info.foreign_loops = loops
        // For the upgrades of our client's WebSockets; the server reads its requests itself.
        info.max_http_header_data = 16_384
        info.max_http_header_pool = 256
        info.pt_serv_buf_size = 32_768
        info.gid = -1
        info.uid = -1
        info.count_threads = 1
        guard let context = lws_create_context(&info) else {
            throw NetError(
                .unavailable, "libwebsockets could not make an event loop (is libwebsockets-evlib-ev installed?)")
        }
        self.context = context
    }

    /// Starts the service thread.
    public func start() {
        let thread = Thread { [self] in
            // Foundation tells the system no name that is set before `start` has returned.
            clws_name_thread(String(name.prefix(15)))
            threadID.store(UInt(pthread_self()), ordering: .releasing)
            let me = Unmanaged.passUnretained(self).toOpaque()
            cev_async_start(
                ev, wake,
                { _, watcher, _ in
                    guard let data = watcher?.pointee.data else { return }
                    Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().drain()
                }, me)
            let period = Double(Self.phaseMs) / 1_000
            cev_timer_start(
                ev, tickTimer,
                { _, watcher, _ in
                    guard let data = watcher?.pointee.data else { return }
                    Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().tick()
                }, period, period, me)
            drain()
            ev_run(ev, 0)
            queue.withLock { $0.isDead = true }
            drainAll()
            // What tickers hold goes while this is still the loop: its end may close sockets and cancel tickers.
            tickers = [[TickerBody]](repeating: [], count: Self.phases)
            slowTickers = []
            drainAll()
            threadID.store(0, ordering: .releasing)
            stopped.signal()
        }
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Closes every connection of this loop and ends its thread; returns when that is done.
    public func stop() {
        guard manualMs == nil else { return stopManually() }
        post { [self] in
            guard !isStopping else { return }
            isStopping = true
            lws_context_destroy(context)
            context = nil
            ev_async_stop(ev, wake)
            ev_timer_stop(ev, tickTimer)
            cev_break_all(ev)
        }
        stopped.wait()
    }

    /// The caller runs on this loop's thread.
    public var isCurrent: Bool { threadID.load(ordering: .acquiring) == UInt(pthread_self()) }

    public func preconditionOnLoop() {
        precondition(isCurrent, "touched the event loop \(name) from another thread")
    }

    // MARK: Executor

    public func enqueue(_ job: consuming ExecutorJob) { push(.job(UnownedJob(job))) }

    /// Runs a function on the loop, soon. From any thread.
    public func post(_ function: @escaping @Sendable () -> Void) { push(.function(function)) }

    private func push(_ item: Item) {
        let mustWake = queue.withLock { queue -> Bool in
            queue.items.append(item)
            if queue.isWakePending { return false }
            queue.isWakePending = true
            return true
        }
        if mustWake, manualMs == nil { ev_async_send(ev, wake) }
    }

    /// All that is queued, and what that queues.
    func drainAll() {
        repeat { drain() } while spareIndex < spare.count || queue.withLock { !$0.items.isEmpty }
    }

    private func drain() {
        let isRest = spareIndex < spare.count
        if !isRest {
            spare.removeAll(keepingCapacity: true)
            spareIndex = 0
            queue.withLock { queue in
                swap(&queue.items, &spare)
                queue.isWakePending = false
            }
        }
        let end = min(spare.count, spareIndex + Self.batchLimit)
        while spareIndex < end {
            let item = spare[spareIndex]
            spareIndex += 1
            switch item {
            case .job(let job):
                begins(.jobs)
                unsafe job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            case .function(let function):
                begins(.functions)
                function()
            }
        }
        if spareIndex == spare.count {
            spare.removeAll(keepingCapacity: true)
            spareIndex = 0
        }
        // Behind a rest the queue may hold items whose wake-up came together with ours.
        if !spare.isEmpty || isRest, manualMs == nil { ev_async_send(ev, wake) }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
    public func checkIsolated() { preconditionOnLoop() }
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: Time

    /// Monotonic milliseconds.
    public static func nowMs() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
    }

    /// The media path's time, monotonic ms: the clock's, but inside a tick the time at which that tick is due, so that
    /// ticks which are made up for stay 20 ms apart. On the loop only.
    public var timeMs: UInt64 { tickTimeMs ?? manualMs ?? Self.nowMs() }

    /// Calls `body` with the time in ms at which each tick is due, 50 times a second: one timer paces all calls. On the
    /// loop only.
    public func addTicker(every pace: Pace = .tick, _ body: @escaping (UInt64) -> Void) -> Ticker {
        preconditionOnLoop()
        let body = TickerBody(body)
        nextPhase = (nextPhase + 1) % Self.phases
        if pace == .tick { tickers[nextPhase].append(body) } else { slowTickers.append(body) }
        return Ticker(loop: self, body: body)
    }

    /// How often: every tick for the media path, every tenth of a second for time-outs.
    public enum Pace: Sendable { case tick, tenth }

    /// The closure called at a tick. nil: cancelled, perhaps by another ticker of the same tick; its owner may be gone.
    fileprivate final class TickerBody {
        var call: ((UInt64) -> Void)?
        init(_ call: @escaping (UInt64) -> Void) { self.call = call }
    }

    /// Ends with `cancel()`; on the loop only.
    public struct Ticker {
        let loop: EventLoop
        fileprivate let body: TickerBody
        public func cancel() {
            loop.preconditionOnLoop()
            guard body.call != nil else { return }
            body.call = nil
            for phase in loop.tickers.indices { loop.tickers[phase].removeAll { $0 === body } }
            loop.slowTickers.removeAll { $0 === body }
        }
    }

    /// Ticks that were missed while the thread was not run are made up for, so that speech never slows down; after a
    /// longer stop the rest is given up.
    func tick() {
        let now = manualMs ?? Self.nowMs()
        turns.add(1, ordering: .relaxed)
        begins(.calls)
        if nextTickMs == 0 || now > nextTickMs + Self.catchUpLimitMs { nextTickMs = now }
        let late = now - min(now, nextTickMs)
        lateness.record(late)
        if late > recentDelay.load(ordering: .relaxed) { recentDelay.store(late, ordering: .relaxed) }
        while nextTickMs <= now + Self.earlyMs {
            let due = nextTickMs
            nextTickMs += Self.phaseMs
            tickTimeMs = due
            for ticker in tickers[phase] { ticker.call?(due) }
            phase = (phase + 1) % Self.phases
            phasesRun &+= 1
            if phasesRun % 25 == 0 { for ticker in slowTickers { ticker.call?(due) } }
            tickTimeMs = nil
        }
    }

    /// How late the ticks were, since the loop began.
    public struct Lateness: Sendable {
        public private(set) var ticks = 0
        public private(set) var lateTicks = 0
        public private(set) var worstMs: UInt64 = 0
        /// A tick more than its own length late makes RTP late.
        mutating func record(_ ms: UInt64) {
            ticks += 1
            if ms > UInt64(EventLoop.tickMilliseconds) { lateTicks += 1 }
            worstMs = max(worstMs, ms)
        }
    }

    /// On the loop only.
    public private(set) var lateness = Lateness()
}
