internal import Pipeline

/// What one message of the wire has become.
struct WireNews {
    var messages: [MediaStreamMessage] = []
    /// The wide sound of frames among them, by their places; empty where no consumer takes it.
    var wide: [(place: Int, sound: AudioFrame)] = []
    var isWideHeard = false
}

/// Sound of the wire → frames of 20 ms at 8 kHz, and their wide sound.
///
/// G.711 at 8 kHz passes as it is. All else is decoded, resampled where its rate is another, and becomes μ-law
/// (`CallerFramer`). Confined to its loop.
final class SoundReader {
    static let unsupported = MediaStreamError("the sound's rate or channels cannot be converted", refusal: .format)

    private let format: WireFormat

    // Of G.711: what does not fill a frame yet.
    private var partial: EncodedFrame
    private var partialCount = 0

    // Of all else: bytes that do not fill a sample yet, and the stages.
    private var odd: [UInt8] = []
    private var decoded: [AudioFrame] = []
    private var framer: CallerFramer?
    private var framed: [EncodedFrame] = []
    private var wide: [AudioFrame] = []

    /// Time of the next frame.
    private var nextMs: UInt32 = 0

    init(_ format: WireFormat) throws(MediaStreamError) {
        guard format.isSupported else { throw Self.unsupported }
        self.format = format
        partial = EncodedFrame(law: format.law ?? .muLaw)
        guard format.law == nil else { return }
        do { framer = try CallerFramer(sampleRate: format.sampleRate) } catch { throw Self.unsupported }
    }

    func read(
        _ sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32?, into news: inout WireNews
    ) throws(MediaStreamError) {
        if let timestampMs { nextMs = timestampMs }
        guard let law = format.law else { return try convert(sound, into: &news) }
        if partialCount == 0, sound.count == EncodedFrame.byteCount {
            news.messages.append(.media(EncodedFrame(copying: sound, law: law, timestampMs: nextMs)))
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
            news.messages.append(.media(partial))
        }
    }

    private func convert(
        _ sound: UnsafeBufferPointer<UInt8>, into news: inout WireNews
    ) throws(MediaStreamError) {
        decoded.removeAll(keepingCapacity: true)
        decode(sound)
        for piece in decoded {
            framed.removeAll(keepingCapacity: true)
            wide.removeAll(keepingCapacity: true)
            do { try framer?.process(piece, into: &framed, wide: &wide) } catch {
                throw MediaStreamError("the sound cannot be resampled")
            }
            for index in framed.indices {
                if news.isWideHeard, index < wide.count { news.wide.append((news.messages.count, wide[index])) }
                framed[index].timestampMs = nextMs
                nextMs &+= UInt32(EncodedFrame.milliseconds)
                news.messages.append(.media(framed[index]))
            }
        }
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
