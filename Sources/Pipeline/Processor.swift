/// A stage that computes: no clock, no network, no waiting. Owned by exactly one task.
///
/// `~Copyable` lets a stage own a C handle; such a stage is created inside the task that runs it.
public protocol Processor<Input, Output>: ~Copyable {
    associatedtype Input: Sendable
    associatedtype Output: Sendable
    /// Appends zero or more outputs for one input.
    mutating func process(_ input: Input, into output: inout [Output]) throws
    /// Barge-in: forget buffered input.
    mutating func flush()
    /// End of stream: emits what is still buffered.
    mutating func finish(into output: inout [Output]) throws
}

extension Processor where Self: ~Copyable {
    public mutating func flush() {}
    public mutating func finish(into output: inout [Output]) throws {}

    /// Fuses two stages into one, with no queue between them: `decoder.then(resampler)`.
    public consuming func then<Next: Processor & ~Copyable>(_ next: consuming Next) -> Chain<Self, Next>
    where Next.Input == Output {
        Chain(self, next)
    }
}

extension Processor where Self: ~Copyable, Input == AudioFrame {
    /// Samples of any number through the stage, in frames of at most 20 ms.
    public mutating func process(
        samples: ArraySlice<Int16>, sampleRate: Int32, turn: Int32 = 0, into output: inout [Output]
    ) throws {
        let step = max(1, min(AudioFrame.capacity, Int(sampleRate) / 50))
        for start in stride(from: samples.startIndex, to: samples.endIndex, by: step) {
            var frame = AudioFrame(sampleRate: sampleRate, turn: turn)
            samples[start..<min(start + step, samples.endIndex)].withUnsafeBufferPointer { _ = frame.append($0) }
            try process(frame, into: &output)
        }
    }
}

/// Two processors fused into one.
public struct Chain<First: Processor & ~Copyable, Second: Processor & ~Copyable>: Processor, ~Copyable
where First.Output == Second.Input {
    public private(set) var first: First
    public private(set) var second: Second
    private var between: [First.Output] = []

    init(_ first: consuming First, _ second: consuming Second) {
        self.first = first
        self.second = second
    }

    public mutating func process(_ input: First.Input, into output: inout [Second.Output]) throws {
        between.removeAll(keepingCapacity: true)
        try first.process(input, into: &between)
        for item in between { try second.process(item, into: &output) }
    }

    public mutating func flush() {
        first.flush()
        second.flush()
    }

    public mutating func finish(into output: inout [Second.Output]) throws {
        between.removeAll(keepingCapacity: true)
        try first.finish(into: &between)
        for item in between { try second.process(item, into: &output) }
        try second.finish(into: &output)
    }
}

/// A stage could not be made or could not go on.
public struct StageError: Error, Sendable, CustomStringConvertible {
    public enum Code: Sendable { case unavailable, badInput }
    public var code: Code
    public var message: String
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
    public var description: String { message }
}
