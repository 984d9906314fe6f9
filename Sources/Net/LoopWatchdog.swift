internal import Foundation
internal import Synchronization

/// A thread that many calls depend on, as the watchdog sees it.
public protocol WatchedThread: AnyObject, Sendable {
    /// For the log and `/health`.
    var name: String { get }
    /// Grows while the thread turns.
    var turnCount: UInt64 { get }
    /// What it began last, for people.
    var doing: String { get }
    /// Calls stand still while it does: the process ends where it does not come back.
    var holdsCalls: Bool { get }
    /// At every look, on the watchdog's thread: a thread that has no timer of its own is given something to do.
    func nudge()
    /// What the look has found.
    func found(isStuck: Bool)
}

extension EventLoop: WatchedThread {
    public var doing: String { lastActivity.name }
    public var holdsCalls: Bool { true }
    /// Its tick is enough.
    public func nudge() {}
    public func found(isStuck: Bool) { self.isStuck = isStuck }
}

/// Notices threads that do not turn any more: event loops, the SIP thread, the HTTP client's thread and the database's
/// writer. Each is logged with what it was doing, and reported by `/health`.
///
/// All calls of a loop stand still with it, and those of all loops with the SIP thread, and nothing else in the process
/// can free that thread: after 10 s the process ends, as a supervisor that restarts it loses less.
///
/// The HTTP client and the database's writer do not end it. Calls go on without them: `CallJournal` keeps what is to be
/// written, and a carrier's or a model's answer that does not come has a time limit of its own. What holds the writer
/// is the disk, mostly: one that hangs for 10 s, in a snapshot or behind a network, comes back often, and if it does
/// not, a new process would meet the same disk, without the calls and without what the journals keep. `/health` says
/// 503 meanwhile, so that no new calls are sent here, and a supervisor may still restart the server.
///
/// Looks are counted, not time: a machine or a process that was stopped as a whole has not looked either, so it is not
/// taken for a loop that hangs.
public final class LoopWatchdog: Sendable {
    public struct Settings: Sendable {
        /// Milliseconds between two looks.
        public var everyMs = 500
        /// Looks without a turn until it is reported: 2 s.
        public var looksUntilReport = 4
        /// Looks without a turn until the process is ended: 10 s.
        public var looksUntilAbort = 20
        public init() {}
    }

    public enum Finding: Sendable, Equatable {
        /// A loop has not turned for so long; what it began last.
        case stuck(loop: String, milliseconds: Int, doing: String)
        /// It turns again.
        case turning(loop: String)
        /// It has not turned for so long that the process is ended.
        case lost(loop: String, milliseconds: Int, doing: String)
        /// A thread that holds no calls has not turned for so long.
        case held(thread: String, milliseconds: Int, doing: String)
        /// It turns again.
        case freed(thread: String)
    }

    /// One thread, as it was seen at each look. A pure value.
    struct Observation {
        enum Verdict: Equatable { case fine, justStuck, stillStuck, justTurning, lost }
        private var turns: UInt64?
        private(set) var looks = 0

        mutating func look(_ turns: UInt64, _ settings: Settings) -> Verdict {
            guard self.turns == turns else {
                let wasStuck = looks >= settings.looksUntilReport
                self.turns = turns
                looks = 0
                return wasStuck ? .justTurning : .fine
            }
            looks += 1
            if looks >= settings.looksUntilAbort { return .lost }
            return looks < settings.looksUntilReport
                ? .fine : looks == settings.looksUntilReport ? .justStuck : .stillStuck
        }
    }

    private let loops: [any WatchedThread]
    private let settings: Settings
    private let report: @Sendable (Finding) -> Void
    private let abort: @Sendable () -> Void
    private let isStopped = Atomic<Bool>(false)
    private let seen: Mutex<[Observation]>
    private let worst = Mutex<String?>(nil)

    /// - Parameters:
    ///   - report: called on the watchdog's thread.
    ///   - abort: ends the process; nil: `abort`, so that a supervisor sees a crash.
    public convenience init(
        _ loops: [any WatchedThread], settings: Settings = Settings(), report: @escaping @Sendable (Finding) -> Void,
        abort: (@Sendable () -> Void)? = nil
    ) {
        self.init(watching: loops, settings: settings, report: report, abort: abort)
        let thread = Thread { [self] in watch() }
        thread.name = "watchdog"
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Without a thread of its own: each call of `look` is a tick of its clock.
    init(
        watching loops: [any WatchedThread], settings: Settings = Settings(),
        report: @escaping @Sendable (Finding) -> Void, abort: (@Sendable () -> Void)? = nil
    ) {
        self.loops = loops
        self.settings = settings
        self.report = report
        self.abort = abort ?? { Foundation.abort() }
        seen = Mutex(loops.map { _ in Observation() })
    }

    /// The problem in one line; nil while all threads run.
    public var problem: String? { worst.withLock { $0 } }

    public func stop() { isStopped.store(true, ordering: .relaxed) }

    private func watch() {
        repeat {
            usleep(UInt32(clamping: settings.everyMs * 1_000))
        } while !isStopped.load(ordering: .relaxed) && look()
    }

    /// One look at each thread. False: the process ends.
    func look() -> Bool {
        var words: [String] = []
        for (index, loop) in loops.enumerated() {
            let turns = loop.turnCount
            let (found, looks) = seen.withLock { seen in (seen[index].look(turns, settings), seen[index].looks) }
            let verdict = found == .lost && !loop.holdsCalls ? .stillStuck : found
            let milliseconds = looks * settings.everyMs
            let isStuck = verdict != .fine && verdict != .justTurning
            loop.found(isStuck: isStuck)
            loop.nudge()
            if isStuck { words.append("\(loop.name) has not turned for \(milliseconds) ms") }
            if let finding = finding(verdict, loop, milliseconds) { report(finding) }
            guard verdict != .lost else {
                abort()
                return false
            }
        }
        worst.withLock { $0 = words.isEmpty ? nil : words.joined(separator: "; ") }
        return true
    }

    /// What there is to say of a look; nil: nothing new.
    private func finding(_ verdict: Observation.Verdict, _ loop: any WatchedThread, _ milliseconds: Int) -> Finding? {
        let name = loop.name
        switch verdict {
        case .fine, .stillStuck: return nil
        case .justTurning: return loop.holdsCalls ? .turning(loop: name) : .freed(thread: name)
        case .lost: return .lost(loop: name, milliseconds: milliseconds, doing: loop.doing)
        case .justStuck:
            return loop.holdsCalls
                ? .stuck(loop: name, milliseconds: milliseconds, doing: loop.doing)
                : .held(thread: name, milliseconds: milliseconds, doing: loop.doing)
        }
    }
}
