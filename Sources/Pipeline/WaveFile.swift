/// WAV with 16-bit linear PCM, one channel (Microsoft's RIFF/WAVE): what carriers record, and what they play from a
/// file.
public struct WaveFile: Sendable, Equatable {
    /// Hertz.
    public var sampleRate: Int32
    public var samples: [Int16]

    public init(sampleRate: Int32, samples: [Int16]) {
        self.sampleRate = sampleRate
        self.samples = samples
    }

    public struct Malformed: Error, Sendable, Equatable, CustomStringConvertible {
        public var description: String
        init(_ description: String) { self.description = description }
    }

    /// Reads PCM of 16 bits, or μ-law and A-law (formats 1, 7 and 6), of one channel or the first of several. A file
    /// that was cut off gives what is there.
    public init(_ bytes: [UInt8]) throws(Malformed) {
        func number(_ start: Int, _ count: Int) -> Int? {
            guard start >= 0, start + count <= bytes.count else { return nil }
            return (0..<count).reversed().reduce(0) { $0 << 8 | Int(bytes[start + $1]) }
        }
        func isTag(_ text: StaticString, at start: Int) -> Bool {
            start + 4 <= bytes.count && (0..<4).allSatisfy { bytes[start + $0] == text.utf8Start[$0] }
        }
        guard isTag("RIFF", at: 0), isTag("WAVE", at: 8) else { throw Malformed("is no WAV file") }
        var at = 12
        var format: (tag: Int, channels: Int, rate: Int, bits: Int)?
        while let size = number(at + 4, 4) {
            let start = at + 8
            if isTag("fmt ", at: at) {
                guard let tag = number(start, 2), let channels = number(start + 2, 2), let rate = number(start + 4, 4),
                    let bits = number(start + 14, 2)
                else { throw Malformed("ends in its format") }
                format = (tag, channels, rate, bits)
            } else if isTag("data", at: at) {
                guard let format, (1...8).contains(format.channels), (4_000...192_000).contains(format.rate) else {
                    throw Malformed("has no valid format before its data")
                }
                let end = min(bytes.count, start + min(size, bytes.count - start))
                let width: Int
                let sample: (Int) -> Int16
                switch (format.tag, format.bits) {
                case (1, 16):
                    width = 2
                    sample = { Int16(bitPattern: UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8) }
                case (7, 8):
                    width = 1
                    sample = { MuLaw.decode(bytes[$0]) }
                case (6, 8):
                    width = 1
                    sample = { ALaw.decodeTable[Int(bytes[$0])] }
                default:
                    throw Malformed(
                        "has the format \(format.tag) with \(format.bits) bits: "
                            + "only PCM of 16 bits, μ-law and A-law are read"
                    )
                }
                let step = width * format.channels
                sampleRate = Int32(format.rate)
                samples = stride(from: start, to: max(start, end - step + 1), by: step).map(sample)
                return
            }
            at = start + size + size % 2
        }
        throw Malformed("has no data")
    }

    public var bytes: [UInt8] {
        var bytes = Self.header(sampleRate: sampleRate, channels: 1, bytes: samples.count * 2)
        bytes.reserveCapacity(bytes.count + samples.count * 2)
        for sample in samples { withUnsafeBytes(of: sample.littleEndian) { bytes += $0 } }
        return bytes
    }

    /// Bytes in front of the samples.
    public static let headerLength = 44

    /// Hertz, as a header of `headerLength` says it; nil: it is shorter.
    public static func sampleRate(inHeader bytes: [UInt8]) -> Int? {
        guard bytes.count >= headerLength else { return nil }
        return (24..<28).reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
    }

    /// What stands in front of so many bytes of 16-bit samples.
    public static func header(sampleRate: Int32, channels: Int32, bytes count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        func word(_ value: Int) { withUnsafeBytes(of: UInt32(clamping: value).littleEndian) { bytes += $0 } }
        func half(_ value: Int32) { withUnsafeBytes(of: UInt16(clamping: value).littleEndian) { bytes += $0 } }
        bytes += "RIFF".utf8
        word(count + 36)
        bytes += "WAVEfmt ".utf8
        word(16)
        half(1)
        half(channels)
        word(Int(sampleRate))
        word(Int(sampleRate) * Int(channels) * 2)
        half(channels * 2)
        half(16)
        bytes += "data".utf8
        word(count)
        return bytes
    }
}
