internal import DequeModule

/// Linear PCM of one rate → μ-law frames of 20 ms at 8 kHz, and, where the PCM is wider than that, the same 20 ms at
/// its own rate.
///
/// The n-th frame and the n-th 20 ms of wide sound are the same sound, and leave together: what is not resampled is
/// made as late as what is.
public struct CallerFramer: ~Copyable {
    /// Hertz of the widest sound that is kept, the largest `AudioFrame`'s; wider sound is brought down to it.
    public static let widestRate: Int32 = 24_000

    private var narrower: Resampler?
    private var framer = Framer(sampleRate: 8_000)
    private var encoder = MuLawEncoder()
    /// Where the rate is above `widestRate`, or 20 ms of it are no whole number of samples.
    private var widener: Resampler?
    private var wideFramer: Framer?
    private var pieces: [AudioFrame] = []
    private var framed: [AudioFrame] = []
    /// What waits for its other half; the resamplers' delays bound it.
    private var frames: Deque<EncodedFrame> = []
    private var wide: Deque<AudioFrame> = []
    private var encoded: [EncodedFrame] = []

    /// Hertz of the wide sound of PCM of this rate; 8 000: it has none.
    public static func wideRate(of sampleRate: Int32) -> Int32 {
        guard sampleRate > 8_000 else { return 8_000 }
        return sampleRate <= widestRate && sampleRate % 50 == 0 ? sampleRate : widestRate
    }

    /// - Throws: `StageError` for a rate that cannot be converted.
    public init(sampleRate: Int32) throws {
        if sampleRate != 8_000 { narrower = try Resampler(from: sampleRate, to: 8_000) }
        let wideRate = Self.wideRate(of: sampleRate)
        guard wideRate > 8_000 else { return }
        if wideRate != sampleRate { widener = try Resampler(from: sampleRate, to: wideRate) }
        var wideFramer = Framer(sampleRate: wideRate)
        let lateMs = (narrower?.lateMs ?? 0) - (widener?.lateMs ?? 0)
        var silence = AudioFrame(sampleRate: wideRate)
        silence.fill { _ in Int(max(0, lateMs) * Double(wideRate) / 1_000) }
        var none: [AudioFrame] = []
        wideFramer.process(silence, into: &none)
        self.wideFramer = wideFramer
    }

    /// Appends the frames that are full, and to `wide` as many pieces of 20 ms, or none where the PCM is not wide.
    public mutating func process(
        _ piece: AudioFrame, into output: inout [EncodedFrame], wide wideOutput: inout [AudioFrame]
    ) throws {
        encoded.removeAll(keepingCapacity: true)
        try narrow(piece)
        guard wideFramer != nil else { return output.append(contentsOf: encoded) }
        frames.append(contentsOf: encoded)
        try widen(piece)
        while !wide.isEmpty, let frame = frames.popFirst() {
            output.append(frame)
            wideOutput.append(wide.removeFirst())
        }
    }

    private mutating func narrow(_ piece: AudioFrame) throws {
        framed.removeAll(keepingCapacity: true)
        if narrower == nil {
            framer.process(piece, into: &framed)
        } else {
            pieces.removeAll(keepingCapacity: true)
            try narrower?.process(piece, into: &pieces)
            for piece in pieces { framer.process(piece, into: &framed) }
        }
        for frame in framed { encoder.process(frame, into: &encoded) }
    }

    private mutating func widen(_ piece: AudioFrame) throws {
        framed.removeAll(keepingCapacity: true)
        if widener == nil {
            wideFramer?.process(piece, into: &framed)
        } else {
            pieces.removeAll(keepingCapacity: true)
            try widener?.process(piece, into: &pieces)
            for piece in pieces { wideFramer?.process(piece, into: &framed) }
        }
        wide.append(contentsOf: framed)
    }
}
