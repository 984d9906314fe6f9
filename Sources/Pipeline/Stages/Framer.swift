/// `AudioFrame`s of any length → frames of exactly 20 ms. The last one of a stream is filled up with silence.
public struct Framer: Processor {
    private let sampleRate: Int32
    private let frameSamples: Int
    private var pending: AudioFrame

    /// - Parameter sampleRate: of input and output, at most 24 000 Hz.
    public init(sampleRate: Int32) {
        self.sampleRate = sampleRate
        self.frameSamples = min(Int(sampleRate) / 50, AudioFrame.capacity)
        self.pending = AudioFrame(sampleRate: sampleRate)
    }

    public mutating func process(_ input: AudioFrame, into output: inout [AudioFrame]) {
        if pending.count == 0 { pending.turn = input.turn }
        input.withSamples { samples in
            var rest = samples
            while !rest.isEmpty {
                let room = frameSamples - pending.count
                let taken = min(room, rest.count)
                pending.append(UnsafeBufferPointer(rebasing: rest[..<taken]))
                rest = UnsafeBufferPointer(rebasing: rest[taken...])
                if pending.count == frameSamples {
                    output.append(pending)
                    pending = AudioFrame(sampleRate: sampleRate, turn: input.turn)
                }
            }
        }
    }

    public mutating func flush() { pending = AudioFrame(sampleRate: sampleRate) }

    public mutating func finish(into output: inout [AudioFrame]) {
        guard pending.count > 0 else { return }
        let missing = frameSamples - pending.count
        withUnsafeTemporaryAllocation(of: Int16.self, capacity: max(1, missing)) { silence in
            silence.initialize(repeating: 0)
            pending.append(UnsafeBufferPointer(rebasing: silence[..<missing]))
        }
        output.append(pending)
        pending = AudioFrame(sampleRate: sampleRate)
    }
}
