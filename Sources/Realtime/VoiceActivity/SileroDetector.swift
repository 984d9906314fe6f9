internal import CSherpa
public import Pipeline

/// Silero VAD over a call's frames: finds speech in noise in which an energy detector finds none. A result holds for
/// the last complete window of 32 ms.
public final class SileroDetector: TrainedDetector {
    /// Samples of a window at 16 kHz.
    private static let window = 512

    private let handle: OpaquePointer
    private var chain: Chain<MuLawDecoder, Resampler>
    private var frames: [AudioFrame] = []
    private var samples: [Float] = []
    private var verdict = false

    init(_ handle: OpaquePointer) throws {
        self.handle = handle
        chain = try MuLawDecoder().then(Resampler(from: 8_000, to: 16_000))
    }

    deinit { csherpa_vad_destroy(handle) }

    public func isSpeech(_ frame: EncodedFrame) -> Bool {
        frames.removeAll(keepingCapacity: true)
        try? chain.process(frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw), into: &frames)
        for frame in frames { frame.withSamples { for sample in $0 { samples.append(Float(sample) / 32_768) } } }
        while samples.count >= Self.window {
            verdict =
                samples.withUnsafeBufferPointer { csherpa_vad_accept(handle, $0.baseAddress, Int32(Self.window)) } != 0
            samples.removeFirst(Self.window)
        }
        return verdict
    }
}
