/// Frames of the caller → `AudioFrame`s at one rate, resampled once: from the wide sound where there is some and the
/// rate is above a frame's 8 kHz, otherwise from the frame.
///
/// Sound may turn wide or narrow at any frame: what the resampler still holds comes first. Nothing changes its place by
/// more than the 2 ms of `RatioFilter`, or at all where time is kept. (A resampler is made at every such change.)
public struct RateConverter: ~Copyable {
    /// Hertz of what comes out.
    public let sampleRate: Int32
    /// Hertz of what went in last.
    private var source: Int32 = 8_000
    /// nil: the rates are the same.
    private var resampler: Resampler?
    private let keepsTime: Bool

    /// - Parameters:
    ///   - sampleRate: hertz; of a rate that libsoxr refuses nothing comes out.
    ///   - keepsTime: see `Resampler`.
    public init(to sampleRate: Int32, keepsTime: Bool = false) {
        self.sampleRate = sampleRate
        self.keepsTime = keepsTime
        resampler =
            sampleRate == 8_000 ? nil : try? Resampler(from: 8_000, to: sampleRate, keepsTime: keepsTime)
    }

    /// Wide sound is of use.
    public var takesWide: Bool { sampleRate > 8_000 }

    public mutating func process(
        _ frame: EncodedFrame, wide: WideSound = WideSound(), into output: inout [AudioFrame]
    ) {
        if !wide.isEmpty, takesWide, let sound = wide.sound { return convert(sound, into: &output) }
        convert(G711.decode(frame, table: G711.decodeTable(of: frame.law)), into: &output)
    }

    private mutating func convert(_ sound: AudioFrame, into output: inout [AudioFrame]) {
        if sound.sampleRate != source {
            finish(into: &output)
            source = sound.sampleRate
            resampler = source == sampleRate ? nil : try? Resampler(from: source, to: sampleRate, keepsTime: keepsTime)
        }
        guard source != sampleRate else { return output.append(sound) }
        try? resampler?.process(sound, into: &output)
    }

    /// Forgets what the resampler still holds.
    public mutating func flush() { resampler?.flush() }

    /// Appends what the resampler still holds.
    public mutating func finish(into output: inout [AudioFrame]) { try? resampler?.finish(into: &output) }
}
