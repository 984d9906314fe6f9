internal import Pipeline
internal import Realtime

/// The AI's side up to the pacer: what a voice or a speech model makes becomes 20 ms frames of the line.
///
///     PCM at any rate ─▶ resample ─▶ frame ─▶ encode ─▶      PCM at 8 kHz ─▶ encode ─▶      μ-law ─▶ frame ─▶
struct SpokenChain: ~Copyable {
    static let resample = "resample"
    static let frame = "frame"
    static let encode = "encode"

    /// A box, because an optional that cannot be copied cannot be looked into.
    private final class Converter {
        var chain: Chain<Chain<Metered<Resampler>, Metered<Framer>>, Metered<MuLawEncoder>>
        init(from rate: Int32) throws {
            chain = try Metered(Resampler(from: rate, to: 8_000)).then(Metered(Framer(sampleRate: 8_000)))
                .then(Metered(MuLawEncoder()))
        }
    }

    private let rate: Int32?
    private let converter: Converter?
    private var encoder = Metered(MuLawEncoder())
    /// μ-law that does not fill a frame yet.
    private var partial = EncodedFrame()
    private var partialCount = 0
    private var framing = StageMeter()

    /// From frames of a voice: 8 kHz, 20 ms.
    init() {
        rate = 8_000
        converter = nil
    }

    /// From a speech model's sound.
    /// - Throws: `StageError` for rates that cannot be converted.
    init(_ format: SpeechFormat) throws {
        switch format {
        case .muLaw:
            rate = nil
            converter = nil
        case .pcm(_, let output):
            rate = output
            converter = try Converter(from: output)
        }
    }

    /// The last stage's name.
    var last: String { rate == nil ? Self.frame : Self.encode }

    /// A frame of 8 kHz PCM.
    mutating func process(_ frame: AudioFrame, into output: inout [EncodedFrame]) {
        try? encoder.process(frame, into: &output)
    }

    /// Bytes of a speech model's sound: μ-law, or little-endian 16-bit PCM.
    mutating func process(_ bytes: UnsafeBufferPointer<UInt8>, into output: inout [EncodedFrame]) {
        guard let rate else { return reframe(bytes, into: &output) }
        var start = 0
        while start + 1 < bytes.count {
            var frame = AudioFrame(sampleRate: rate)
            frame.fill { buffer in
                let count = min(buffer.count, (bytes.count - start) / 2)
                for index in 0..<count {
                    let at = start + 2 * index
                    buffer[index] = Int16(bitPattern: UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8)
                }
                return count
            }
            start += 2 * max(1, frame.count)
            try? converter?.chain.process(frame, into: &output)
        }
    }

    private mutating func reframe(_ bytes: UnsafeBufferPointer<UInt8>, into output: inout [EncodedFrame]) {
        let begin = StageMeter.now()
        var rest = bytes
        while !rest.isEmpty {
            let taken = min(EncodedFrame.byteCount - partialCount, rest.count)
            for index in 0..<taken { partial.bytes[partialCount + index] = rest[index] }
            partialCount += taken
            rest = UnsafeBufferPointer(rebasing: rest[taken...])
            if partialCount == EncodedFrame.byteCount {
                partialCount = 0
                output.append(partial)
                framing.count()
            }
        }
        framing.took(nanoseconds: StageMeter.now() &- begin)
    }

    /// Drops the rest that does not fill a frame: it belongs to flushed speech.
    mutating func flush() {
        partialCount = 0
        converter?.chain.flush()
    }

    /// The end of an utterance: what does not fill a frame is filled up with silence.
    mutating func finish(into output: inout [EncodedFrame]) {
        if partialCount > 0 {
            for index in partialCount..<EncodedFrame.byteCount { partial.bytes[index] = CompandingLaw.muLaw.silence }
            partialCount = 0
            output.append(partial)
            framing.count()
        }
        try? converter?.chain.finish(into: &output)
    }

    var readings: [StageReading] {
        guard rate != nil else { return [framing.reading(Self.frame, .ai)] }
        guard let converter else { return [encoder.meter.reading(Self.encode, .ai)] }
        return [
            converter.chain.first.first.meter.reading(Self.resample, .ai),
            converter.chain.first.second.meter.reading(Self.frame, .ai),
            converter.chain.second.meter.reading(Self.encode, .ai),
        ]
    }
}
