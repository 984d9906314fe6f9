public import Foundation
internal import Synchronization

/// Lets a loop wait for a wake-up or a time limit between two looks at its work.
public final class Alarm: Sendable {
    private struct State {
        var isRung = false
        var sleeper: CheckedContinuation<Void, Never>?
        var timer: Task<Void, Never>?
    }
    private let state = Mutex(State())

    public init() {}

    /// A ring without a waiter ends the next wait at once. For one waiter.
    public func wait(seconds: TimeInterval) async {
        await withCheckedContinuation { continuation in
            let timer = Task { [self] in
                try? await Task.sleep(for: .seconds(seconds))
                if !Task.isCancelled { ring() }
            }
            let isRung = state.withLock { state -> Bool in
                if !state.isRung { (state.sleeper, state.timer) = (continuation, timer) }
                defer { state.isRung = false }
                return state.isRung
            }
            guard isRung else { return }
            timer.cancel()
            continuation.resume()
        }
    }

    public func ring() {
        let (sleeper, timer) = state.withLock { state in
            defer { (state.sleeper, state.timer, state.isRung) = (nil, nil, state.sleeper == nil) }
            return (state.sleeper, state.timer)
        }
        timer?.cancel()
        sleeper?.resume()
    }
}
