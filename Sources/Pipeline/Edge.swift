import Synchronization

/// A bounded queue between two stages: any number of producers, one consumer.
///
/// Decisions are in `EdgeStateMachine`; this face holds the lock and resumes continuations outside it.
public final class Edge<Payload: Sendable>: Sendable {
    public let plan: EdgePlan
    private let state: Mutex<EdgeStateMachine<Payload>>

    public init(_ plan: EdgePlan) {
        self.plan = plan
        self.state = Mutex(EdgeStateMachine(limit: plan.limit, whenFull: plan.whenFull))
    }

    public convenience init(_ name: String, limit: Int, whenFull: WhenFull) {
        self.init(EdgePlan(name, limit: limit, whenFull: whenFull))
    }

    /// Queues a payload; suspends while the queue is full and its policy is `.wait`.
    /// - Throws: `CancellationError` if the task is cancelled while it waits; the payload is then not queued.
    public func send(_ payload: Payload) async throws {
        let action = state.withLock { $0.send(payload, at: .now) }
        switch action {
        case .done: return
        case .resume(let consumer): consumer.resume(returning: .data(payload))
        case .suspend(let ticket):
            let sent = await withTaskCancellationHandler {
                await withCheckedContinuation { producer in
                    switch state.withLock({ $0.suspend(producer, ticket: ticket, with: payload, at: .now) }) {
                    case .none: break
                    case .resumeProducer(let sent): producer.resume(returning: sent)
                    case .resumeBoth(let consumer):
                        producer.resume(returning: true)
                        consumer.resume(returning: .data(payload))
                    }
                }
            } onCancel: {
                state.withLock { $0.cancelProducer(ticket: ticket) }?.resume(returning: false)
            }
            if !sent { throw CancellationError() }
        }
    }

    /// Queues a payload without ever waiting. False if the queue is full and its policy is `.wait`.
    @discardableResult
    public func offer(_ payload: Payload) -> Bool {
        switch state.withLock({ $0.send(payload, at: .now) }) {
        case .done: return true
        case .resume(let consumer):
            consumer.resume(returning: .data(payload))
            return true
        case .suspend: return false
        }
    }

    /// The next signal; nil once the end has been delivered or the consumer's task is cancelled.
    public func next() async -> Signal<Payload>? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { consumer in
                let action = state.withLock { $0.next(consumer) }
                action.producer?.resume(returning: true)
                if action.isReady { consumer.resume(returning: action.signal) }
            }
        } onCancel: {
            finish()
        }
    }

    /// Takes everything queued right now, so that a consumer wakes once a batch instead of once a payload.
    public func drain(into batch: inout [Payload]) {
        let producers = state.withLock { $0.drain(into: &batch) }
        for producer in producers { producer.resume(returning: true) }
    }

    /// Barge-in: discards queued payloads and signals the consumer.
    public func flush() {
        let action = state.withLock { $0.flush() }
        for producer in action.producers { producer.resume(returning: true) }
        action.consumer?.resume(returning: .flush)
    }

    /// No more payloads follow; queued payloads are still delivered.
    public func finish() {
        let action = state.withLock { $0.finish() }
        for producer in action.producers { producer.resume(returning: true) }
        action.consumer?.resume(returning: .end)
    }

    /// Depth, age, drops and waits, for the call's page and the metrics.
    public var reading: EdgeReading {
        state.withLock { state in
            EdgeReading(
                plan, depth: state.count, peakDepth: state.peak,
                oldestMs: state.oldest.map { Int(($0.duration(to: .now) / .milliseconds(1)).rounded()) } ?? 0,
                sent: state.accepted, dropped: state.dropped, waits: state.waits)
        }
    }
}
