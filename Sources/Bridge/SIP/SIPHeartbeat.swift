public import Net
internal import Synchronization

/// Whether the SIP thread turns, for the watchdog: a function is posted to it at every look, and counted where it runs.
///
/// Signalling of all calls stands still with that thread, and it ticks only for what it has to do: unlike an event
/// loop it shows nothing by itself.
public final class SIPHeartbeat: WatchedThread {
    public let name = "sip"
    private let agent: UserAgent
    private let beats = Atomic<UInt64>(0)
    /// One is on its way: a thread that hangs must not be left more and more of them.
    private let isPosted = Atomic<Bool>(false)

    public init(_ agent: UserAgent) { self.agent = agent }

    public var turnCount: UInt64 { beats.load(ordering: .relaxed) }
    public var doing: String { agent.activity.name }
    public var holdsCalls: Bool { true }

    public func nudge() {
        guard !isPosted.exchange(true, ordering: .relaxed) else { return }
        agent.perform { [self] _ in
            beats.add(1, ordering: .relaxed)
            isPosted.store(false, ordering: .relaxed)
        }
    }

    public func found(isStuck: Bool) {}
}
