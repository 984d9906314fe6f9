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
    /// At every look, on the watchdog's thread: a thread that has no timer of its own is given something to do.
    func nudge()
    /// What the look has found.
    func found(isStuck: Bool)
}

extension EventLoop: WatchedThread {
    public var doing: String { lastActivity.name }
    /// Its tick is enough.
    public func nudge() {}
    public func found(isStuck: Bool) { self.isStuck = isStuck }
}

/// Notices event loops that do not turn any more, and ends the process where one does not come back. The SIP thread is
/// watched as a loop is.
///
/// All calls of a loop stand still with it, and nothing else in the process can free its thread: a supervisor that
/// restarts the process loses less. Looks are counted, not time: a machine or a process that was stopped as a whole has
/// not looked either, so it is not taken for a loop that hangs.
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
    }

    /// One loop, as it was seen at each look. A pure value.
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
    private let worst = Mutex<String?>(nil)

    /// - Parameters:
    ///   - report: called on the watchdog's thread.
    ///   - abort: ends the process; nil: `abort`, so that a supervisor sees a crash.
    public init(
        _ loops: [any WatchedThread], settings: Settings = Settings(), report: @escaping @Sendable (Finding) -> Void,
        abort: (@Sendable () -> Void)? = nil
    ) {
        self.loops = loops
        self.settings = settings
        self.report = report
        self.abort = abort ?? { Foundation.abort() }
        let thread = Thread { [self] in watch() }
        thread.name = "watchdog"
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// The problem in one line; nil while all loops run.
    public var problem: String? { worst.withLock { $0 } }

    public func stop() { isStopped.store(true, ordering: .relaxed) }

    private func watch() {
        var seen = loops.map { _ in Observation() }
        while true {
            usleep(UInt32(clamping: settings.everyMs * 1_000))
            guard !isStopped.load(ordering: .relaxed) else { return }
            var words: [String] = []
            for (index, loop) in loops.enumerated() {
                let verdict = seen[index].look(loop.turnCount, settings)
                let milliseconds = seen[index].looks * settings.everyMs
                let doing = loop.doing
                let isStuck = verdict != .fine && verdict != .justTurning
                loop.found(isStuck: isStuck)
                loop.nudge()
                if isStuck { words.append("\(loop.name) has not turned for \(milliseconds) ms") }
                switch verdict {
                case .fine, .stillStuck: break
                case .justStuck: report(.stuck(loop: loop.name, milliseconds: milliseconds, doing: doing))
                case .justTurning: report(.turning(loop: loop.name))
                case .lost:
                    report(.lost(loop: loop.name, milliseconds: milliseconds, doing: doing))
                    abort()
                    return
                }
            }
            worst.withLock { $0 = words.isEmpty ? nil : words.joined(separator: "; ") }
        }
    }
}
