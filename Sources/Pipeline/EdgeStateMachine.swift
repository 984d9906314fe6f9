internal import DequeModule

/// The decisions behind `Edge`, free of locks and of continuations being resumed.
struct EdgeStateMachine<Payload: Sendable>: Sendable {
    typealias Producer = CheckedContinuation<Bool, Never>
    typealias Consumer = CheckedContinuation<Signal<Payload>?, Never>

    private struct Waiting: Sendable {
        var ticket: UInt64
        var producer: Producer
        var payload: Payload
    }

    let limit: Int
    let whenFull: WhenFull
    private(set) var dropped = 0
    private(set) var accepted = 0
    private(set) var peak = 0
    private(set) var waits = 0
    private var items: Deque<(payload: Payload, since: ContinuousClock.Instant)> = []
    private var waitingProducers: Deque<Waiting> = []
    private var cancelledTickets: Set<UInt64> = []
    private var nextTicket: UInt64 = 0
    private var waitingConsumer: Consumer?
    private var flushPending = false
    private var ended = false
    private var endDelivered = false

    init(limit: Int, whenFull: WhenFull) {
        self.limit = limit
        self.whenFull = whenFull
    }

    var count: Int { items.count }

    /// When the oldest queued payload came.
    var oldest: ContinuousClock.Instant? { items.first?.since }

    private mutating func push(_ payload: Payload, at now: ContinuousClock.Instant) {
        items.append((payload, now))
        accepted += 1
        peak = max(peak, items.count)
    }

    private mutating func pop() -> Payload? { items.popFirst()?.payload }

    enum SendAction { case done, resume(Consumer), suspend(ticket: UInt64) }

    mutating func send(_ payload: Payload, at now: ContinuousClock.Instant) -> SendAction {
        guard !ended else { return .done }
        if let consumer = waitingConsumer {
            waitingConsumer = nil
            accepted += 1
            return .resume(consumer)
        }
        if count >= limit {
            guard whenFull == .dropOldest else {
                nextTicket += 1
                return .suspend(ticket: nextTicket)
            }
            _ = pop()
            dropped += 1
        }
        push(payload, at: now)
        return .done
    }

    enum SuspendAction { case resumeProducer(sent: Bool), resumeBoth(Consumer) }

    /// Called once the producer has a continuation; the queue may have changed since `send`.
    mutating func suspend(
        _ producer: Producer, ticket: UInt64, with payload: Payload, at now: ContinuousClock.Instant
    ) -> SuspendAction? {
        if cancelledTickets.remove(ticket) != nil { return .resumeProducer(sent: false) }
        if ended { return .resumeProducer(sent: true) }
        if let consumer = waitingConsumer {
            waitingConsumer = nil
            accepted += 1
            return .resumeBoth(consumer)
        }
        if count < limit {
            push(payload, at: now)
            return .resumeProducer(sent: true)
        }
        waits += 1
        waitingProducers.append(Waiting(ticket: ticket, producer: producer, payload: payload))
        return nil
    }

    /// The producer's task was cancelled, perhaps before it had its continuation.
    mutating func cancelProducer(ticket: UInt64) -> Producer? {
        if let index = waitingProducers.firstIndex(where: { $0.ticket == ticket }) {
            return waitingProducers.remove(at: index).producer
        }
        cancelledTickets.insert(ticket)
        return nil
    }

    private mutating func admitOne() -> Producer? {
        guard !waitingProducers.isEmpty, count < limit else { return nil }
        let waiting = waitingProducers.removeFirst()
        push(waiting.payload, at: .now)
        return waiting.producer
    }

    mutating func next(_ consumer: Consumer) -> (isReady: Bool, signal: Signal<Payload>?, producer: Producer?) {
        if flushPending {
            flushPending = false
            return (true, .flush, nil)
        }
        if let payload = pop() { return (true, .data(payload), admitOne()) }
        if ended {
            defer { endDelivered = true }
            return (true, endDelivered ? nil : .end, nil)
        }
        waitingConsumer = consumer
        return (false, nil, nil)
    }

    mutating func drain(into batch: inout [Payload]) -> [Producer] {
        guard !flushPending else { return [] }
        while let payload = pop() { batch.append(payload) }
        var producers: [Producer] = []
        while let producer = admitOne() { producers.append(producer) }
        return producers
    }

    private mutating func releaseAll() -> (producers: [Producer], consumer: Consumer?) {
        let producers = waitingProducers.map(\.producer)
        waitingProducers.removeAll()
        let consumer = waitingConsumer
        waitingConsumer = nil
        return (producers, consumer)
    }

    mutating func flush() -> (producers: [Producer], consumer: Consumer?) {
        while pop() != nil {}
        let released = releaseAll()
        flushPending = released.consumer == nil && !ended
        return released
    }

    mutating func finish() -> (producers: [Producer], consumer: Consumer?) {
        guard !ended else { return ([], nil) }
        ended = true
        let released = releaseAll()
        endDelivered = released.consumer != nil
        return released
    }
}
