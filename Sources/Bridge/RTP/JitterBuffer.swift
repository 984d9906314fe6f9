internal import Pipeline

/// Puts a caller's packets in order.
///
/// An AI listens, it does not play: it needs the order of packets, not their rhythm. So a packet that is next in order
/// leaves at once, with no playout delay, and only a gap makes the ones behind it wait: until the missing packet comes,
/// or for `holdMs`. The hold grows when packets are found to have come too late, and shrinks again.
public struct JitterBuffer {
    /// Milliseconds a gap is waited for, at first and at most.
    public static let holdMs: ClosedRange<UInt64> = 40...120
    /// Packets held; more means the stream jumped.
    static let capacity = 64
    /// Lost packets that are concealed one by one; a larger jump is a restart.
    static let concealLimit = 10

    /// The bytes of a packet, stored inline so that a packet costs no allocation.
    public struct Payload: Equatable {
        /// Bytes: 60 ms, the longest packet time we take; what is beyond is cut off.
        public static let capacity = 480

        public private(set) var count: Int
        private var storage: [480 of UInt8]

        public init(_ source: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)) {
            storage = .init(repeating: 0)
            count = min(source.count, Self.capacity)
            var target = storage.mutableSpan
            for index in 0..<count { target[index] = source[index] }
        }

        /// The valid bytes.
        public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
            let span = storage.span
            return try span.withUnsafeBufferPointer { try body(UnsafeBufferPointer(rebasing: $0[..<count])) }
        }

        public static func == (a: Payload, b: Payload) -> Bool {
            guard a.count == b.count else { return false }
            for index in 0..<a.count where a.storage[index] != b.storage[index] { return false }
            return true
        }
    }

    public enum Output: Equatable {
        case packet(Payload)
        case lost
    }

    public private(set) var lost = 0
    public private(set) var late = 0
    public private(set) var duplicates = 0
    private var expected: UInt16?
    private var held: [(sequence: UInt16, payload: Payload, arrived: UInt64)] = []
    private var currentHold = JitterBuffer.holdMs.lowerBound
    private var inOrderSinceLate = 0

    public init() {}

    public mutating func insert(sequence: UInt16, payload: Payload, now: UInt64, into output: inout [Output]) {
        guard let next = expected else {
            expected = sequence &+ 1
            output.append(.packet(payload))
            return
        }
        let ahead = Int16(bitPattern: sequence &- next)
        if ahead < 0 {
            if ahead < -1_000 {  // the sender began anew
                reset(to: sequence, payload: payload, into: &output)
                return
            }
            late += 1
            inOrderSinceLate = 0
            currentHold = min(currentHold + 20, Self.holdMs.upperBound)
            return
        }
        if Int(ahead) > 1_000 {
            reset(to: sequence, payload: payload, into: &output)
            return
        }
        if ahead == 0 {
            output.append(.packet(payload))
            expected = next &+ 1
            inOrderSinceLate += 1
            if inOrderSinceLate > 500 {
                inOrderSinceLate = 0
                currentHold = max(currentHold - 20, Self.holdMs.lowerBound)
            }
            release(into: &output)
            return
        }
        let place = held.firstIndex { Int16(bitPattern: $0.sequence &- sequence) >= 0 } ?? held.count
        if place < held.count, held[place].sequence == sequence {
            duplicates += 1
            return
        }
        held.insert((sequence, payload, now), at: place)
        if held.count > Self.capacity { giveUp(into: &output) }
    }

    /// To be called at each tick: gives up on gaps that lasted too long.
    public mutating func poll(now: UInt64, into output: inout [Output]) {
        while let first = held.first, now &- min(now, first.arrived) >= currentHold { giveUp(into: &output) }
    }

    private mutating func giveUp(into output: inout [Output]) {
        guard let next = expected, let first = held.first else { return }
        let missing = Int(first.sequence &- next)
        lost += missing
        for _ in 0..<min(missing, Self.concealLimit) { output.append(.lost) }
        expected = first.sequence
        release(into: &output)
    }

    private mutating func release(into output: inout [Output]) {
        while let first = held.first, first.sequence == expected {
            output.append(.packet(first.payload))
            expected = first.sequence &+ 1
            held.removeFirst()
        }
    }

    private mutating func reset(to sequence: UInt16, payload: Payload, into output: inout [Output]) {
        held.removeAll(keepingCapacity: true)
        expected = sequence &+ 1
        output.append(.packet(payload))
    }
}
