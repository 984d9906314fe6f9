internal import Pipeline

/// Sound of the wire → frames of 20 ms at 8 kHz.
///
/// G.711 at 8 kHz passes as it is. All else is decoded, resampled where its rate is another, and becomes μ-law; wider
/// sound is offered at its own rate beside that. Confined to its loop.
final class SoundReader {
    /// Hertz of the widest sound that is offered; what is wider is brought down to it. The largest `AudioFrame`'s.
    static let widestRate: Int32 = 24_000
    static let unsupported = MediaStreamError("the sound's rate or channels cannot be converted", refusal: .format)

    private let format: WireFormat
    /// Hears 20 ms of sound wider than 8 kHz, before the frame that it becomes.
    var onWideSound: ((AudioFrame) -> Void)?

    // Of G.711: what does not fill a frame yet.
    private var partial: EncodedFrame
    private var partialCount = 0

    // Of all else: bytes that do not fill a sample yet, and the stages.
    private var odd: [UInt8] = []
    private var decoded: [AudioFrame] = []
    private var narrowed: [AudioFrame] = []
    private var framed: [AudioFrame] = []
    private var encoded: [EncodedFrame] = []
    private var narrower: Resampler? = nil
    private var framer = Framer(sampleRate: 8_000)
    private var encoder = MuLawEncoder()
    private var wideNarrower: Resampler? = nil
    private var wideFramer: Framer?

    /// Time of the next frame.
    private var nextMs: UInt32 = 0

    init(_ format: WireFormat) throws(MediaStreamError) {
        guard format.isSupported else { throw Self.unsupported }
        self.format = format
        partial = EncodedFrame(law: format.law ?? .muLaw)
        guard format.sampleRate > 8_000 else { return }
        do {
            narrower = try Resampler(from: format.sampleRate, to: 8_000)
            if format.sampleRate > Self.widestRate {
                wideNarrower = try Resampler(from: format.sampleRate, to: Self.widestRate)
            }
        } catch { throw Self.unsupported }
        wideFramer = Framer(sampleRate: min(format.sampleRate, Self.widestRate))
    }

    func read(
        _ sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32?, into messages: inout [MediaStreamMessage]
    ) throws(MediaStreamError) {
        if let timestampMs { nextMs = timestampMs }
        guard let law = format.law else { return try convert(sound, into: &messages) }
        if partialCount == 0, sound.count == EncodedFrame.byteCount {
            messages.append(.media(EncodedFrame(copying: sound, law: law, timestampMs: nextMs)))
            nextMs &+= UInt32(EncodedFrame.milliseconds)
            return
        }
        var rest = sound
        while !rest.isEmpty {
            let taken = min(EncodedFrame.byteCount - partialCount, rest.count)
            for index in 0..<taken { partial.bytes[partialCount + index] = rest[index] }
            partialCount += taken
            rest = UnsafeBufferPointer(rebasing: rest[taken...])
            guard partialCount == EncodedFrame.byteCount else { break }
            partialCount = 0
            partial.timestampMs = nextMs
            nextMs &+= UInt32(EncodedFrame.milliseconds)
            messages.append(.media(partial))
        }
    }

    private func convert(
        _ sound: UnsafeBufferPointer<UInt8>, into messages: inout [MediaStreamMessage]
    ) throws(MediaStreamError) {
        decoded.removeAll(keepingCapacity: true)
        decode(sound)
        for piece in decoded {
            do {
                if let onWideSound, wideFramer != nil { try widen(piece, onWideSound) }
                narrowed.removeAll(keepingCapacity: true)
                if narrower == nil { narrowed.append(piece) } else { try narrower?.process(piece, into: &narrowed) }
                for narrow in narrowed {
                    framed.removeAll(keepingCapacity: true)
                    framer.process(narrow, into: &framed)
                    encoded.removeAll(keepingCapacity: true)
                    for frame in framed { encoder.process(frame, into: &encoded) }
                    for var frame in encoded {
                        frame.timestampMs = nextMs
                        nextMs &+= UInt32(EncodedFrame.milliseconds)
                        messages.append(.media(frame))
                    }
                }
            } catch { throw MediaStreamError("the sound cannot be resampled") }
        }
    }

    private func widen(_ piece: AudioFrame, _ hear: (AudioFrame) -> Void) throws {
        narrowed.removeAll(keepingCapacity: true)
        if wideNarrower == nil { narrowed.append(piece) } else { try wideNarrower?.process(piece, into: &narrowed) }
        framed.removeAll(keepingCapacity: true)
        for part in narrowed { wideFramer?.process(part, into: &framed) }
        for frame in framed { hear(frame) }
    }

    // MARK: Samples

    /// Whole samples into `decoded`; what is left over waits in `odd`.
    private func decode(_ sound: UnsafeBufferPointer<UInt8>) {
        let stride = format.stride
        var rest = sound
        if !odd.isEmpty {
            let missing = min(stride - odd.count, rest.count)
            odd.append(contentsOf: rest[..<missing])
            rest = UnsafeBufferPointer(rebasing: rest[missing...])
            guard odd.count == stride else { return }
            odd.withUnsafeBufferPointer { samples($0, 1) }
            odd.removeAll(keepingCapacity: true)
        }
        let whole = rest.count / stride
        samples(rest, whole)
        odd.append(contentsOf: rest[(whole * stride)...])
    }

    private func samples(_ bytes: UnsafeBufferPointer<UInt8>, _ count: Int) {
        let stride = format.stride
        var start = 0
        while start < count {
            var frame = AudioFrame(sampleRate: format.sampleRate)
            let first = start
            frame.fill { buffer in
                let taken = min(buffer.count, count - first)
                switch format.encoding {
                case .muLaw: Self.expand(.muLaw, bytes, first, stride, buffer, taken)
                case .aLaw: Self.expand(.aLaw, bytes, first, stride, buffer, taken)
                case .linear16(let order):
                    let (low, high) = order == .little ? (0, 1) : (1, 0)
                    for index in 0..<taken {
                        let at = (first + index) * stride
                        buffer[index] = Int16(
                            bitPattern: UInt16(bytes[at + low]) | UInt16(bytes[at + high]) << 8)
                    }
                }
                return taken
            }
            start += max(1, frame.count)
            decoded.append(frame)
        }
    }

    private static func expand(
        _ law: CompandingLaw, _ bytes: UnsafeBufferPointer<UInt8>, _ first: Int, _ stride: Int,
        _ buffer: UnsafeMutableBufferPointer<Int16>, _ count: Int
    ) {
        G711.decodeTable(of: law).withUnsafeBufferPointer { table in
            for index in 0..<count { buffer[index] = table[Int(bytes[(first + index) * stride])] }
        }
    }
}
