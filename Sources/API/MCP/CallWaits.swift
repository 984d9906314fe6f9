internal import Problems
internal import Store
internal import Synchronization

/// Requests that are held back until a call has ended.
final class CallWaits: Sendable {
    /// Requests of one key that wait at once: each holds a connection.
    static let limitPerKey = 8

    private let waiting = Mutex<[String: Int]>([:])

    /// Returns when a call is over, at the latest at a deadline. Nothing is asked again and again: events wake it.
    /// - Parameters:
    ///   - events: those of all calls, from the moment on at which it is called.
    ///   - isOver: asked before the first event, and after each of the call.
    /// - Throws: as many as may wait are waiting already; what `isOver` throws.
    func wait(
        until deadline: ContinuousClock.Instant, for principal: Principal,
        events: @Sendable () -> AsyncStream<CallEvent>, of callID: String,
        isOver: @Sendable () async throws -> Bool
    ) async throws {
        let who = principal.company.rawValue + " " + (principal.key.isEmpty ? principal.name : principal.key)
        guard begin(who) else {
            throw APIError(
                429, "rate_limited", .tooManyWaiting, ["limit": .number(Self.limitPerKey)])
        }
        defer { end(who) }
        while ContinuousClock.now < deadline, !Task.isCancelled {
            // Before the look at the call, so that nothing falls between the two.
            let coming = events()
            if try await isOver() { return }
            await withTaskGroup(of: Void.self) { group in
                // The stream ends by itself if this falls behind; then the call is looked at again.
                group.addTask { for await event in coming where event.callID == callID { return } }
                group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
                await group.next()
                group.cancelAll()
            }
        }
    }

    private func begin(_ who: String) -> Bool {
        waiting.withLock { waiting in
            guard waiting[who, default: 0] < Self.limitPerKey else { return false }
            waiting[who, default: 0] += 1
            return true
        }
    }

    private func end(_ who: String) {
        waiting.withLock { waiting in
            let left = waiting[who, default: 1] - 1
            waiting[who] = left > 0 ? left : nil
        }
    }
}
