/// Whether sound looks like what was announced: speech changes little from sample to sample if it is read as it was
/// written, and more if it is read as another encoding.
public struct SoundLook: Sendable, Equatable {
    /// Samples that are looked at; and at least, of loud sound, to judge.
    static let sampleLimit = 100_000
    static let leastSamples = 4_000
    /// Another reading is right where it is that much smoother; or somewhat smoother and far less loud, for linear PCM
    /// made of companded bytes is smooth, too, but always very loud.
    static let smoother = 0.65
    static let somewhatSmoother = 0.85
    static let quieter = 0.33
    /// Mean size of what counts, of 32 767.
    static let leastSize = 200.0

    private static let readings: [WireFormat.Encoding] = [.muLaw, .aLaw, .linear16(.little), .linear16(.big)]

    private struct Sums: Sendable, Equatable {
        var size = 0.0
        var change = 0.0
        var count = 0
        /// Mean change from sample to sample over mean size.
        var roughness: Double { size > 0 ? change / size : 0 }
        var meanSize: Double { count > 0 ? size / Double(count) : 0 }
    }

    private var sums = [Sums](repeating: Sums(), count: SoundLook.readings.count)
    private var announced: Int?
    /// A payload begins as a WAV file does (RIFF).
    public private(set) var hasHeader = false

    public init() {}

    mutating func look(at sound: [UInt8], _ format: WireFormat) {
        if sound.starts(with: "RIFF".utf8) { hasHeader = true }
        guard let reading = Self.readings.firstIndex(of: format.encoding) else { return }
        announced = reading
        // Silence as announced is no evidence.
        let said = format.encoding.samples(of: sound)
        guard Self.meanSize(said) >= Self.leastSize, sums[reading].count < Self.sampleLimit else { return }
        for other in Self.readings.indices {
            add(other == reading ? said : Self.readings[other].samples(of: sound), to: other)
        }
    }

    private mutating func add(_ samples: [Int16], to reading: Int) {
        var last = samples.first ?? 0
        for sample in samples {
            sums[reading].size += Double(abs(Int(sample)))
            sums[reading].change += Double(abs(Int(sample) - Int(last)))
            last = sample
        }
        sums[reading].count += samples.count
    }

    private static func meanSize(_ samples: [Int16]) -> Double {
        guard !samples.isEmpty else { return 0 }
        return samples.reduce(0.0) { $0 + Double(abs(Int($1))) } / Double(samples.count)
    }

    private func isBetter(_ other: Sums, than said: Sums) -> Bool {
        guard other.meanSize >= Self.leastSize, said.roughness > 0 else { return false }
        let ratio = other.roughness / said.roughness
        return ratio < Self.smoother || ratio < Self.somewhatSmoother && other.meanSize < said.meanSize * Self.quieter
    }

    /// nil: too little was heard.
    public var finding: Finding? {
        if hasHeader { return .fail("a payload begins with the header of a WAV file") }
        guard let announced, sums[announced].count >= Self.leastSamples else { return nil }
        let words = Self.readings[announced].words
        let best = Self.readings.indices.filter { $0 != announced }
            .min { sums[$0].roughness < sums[$1].roughness }
        if let best, isBetter(sums[best], than: sums[announced]) {
            return .fail("it was announced as \(words) and sounds like \(Self.readings[best].words)")
        }
        return .pass("it sounds like \(words), as announced")
    }
}
