internal import Realtime

/// A conversation that a media stream is to bring: awaited for a time, there, and over, once. A value in an attempt's
/// actor.
struct AwaitedConversation {
    private(set) var current: (any CarriedConversation)?
    private(set) var isOver = false
    private var wantedEnd: EndReason?
    private var deadline: Task<Void, Never>?
    private var waiter: CheckedContinuation<Void, Never>?

    /// Has `late` called where no conversation has begun in that many seconds.
    mutating func limit(_ seconds: Double, _ late: @escaping @Sendable () async -> Void) {
        guard current == nil, !isOver else { return }
        deadline = Task {
            try? await Task.sleep(for: .seconds(seconds))
            if !Task.isCancelled { await late() }
        }
    }

    mutating func began(_ conversation: any CarriedConversation) {
        deadline?.cancel()
        guard !isOver else { return }
        current = conversation
        if let wantedEnd { Task { await conversation.hangUp(wantedEnd) } }
    }

    /// The conversation to hang up; nil: it is hung up as soon as it comes.
    mutating func toHangUp(_ reason: EndReason) -> (any CarriedConversation)? {
        if current == nil { wantedEnd = reason }
        return current
    }

    /// Resumes `waiter` when it is over.
    mutating func tellsEnd(_ waiter: CheckedContinuation<Void, Never>) {
        if isOver { waiter.resume() } else { self.waiter = waiter }
    }

    mutating func end() {
        guard !isOver else { return }
        isOver = true
        deadline?.cancel()
        current = nil
        waiter?.resume()
        waiter = nil
    }
}
