internal import Pipeline

/// Frames of 20 ms at 8 kHz → sound of the wire, in messages as large as the far end wants them.
///
/// Marks wait until the sound in front of them has left. Confined to its loop.
final class SoundWriter {
    /// Milliseconds of sound that may wait for a message to be full, beyond the smallest message.
    static let waitingLimitMs = 1_000
    /// Marks that may wait.
    static let markLimit = 64

    let terms: WireTerms
    private var format: WireFormat { terms.outgoing }
    private let waitingLimit: Int

    private var widener: Resampler? = nil
    private var widened: [AudioFrame] = []
    /// Sound that waits; what is before `head` has left.
    private var waiting: [UInt8] = []
    private var head = 0
    private var marks: [(name: String, frames: Int)] = []
    /// Frames that were given, and bytes that left, since nothing waited last.
    private var frames = 0
    private var left = 0
    /// Time of the first of those frames.
    private var firstMs: UInt32 = 0

    init(_ terms: WireTerms) throws(MediaStreamError) {
        guard terms.outgoing.isSupported else { throw SoundReader.unsupported }
        self.terms = terms
        waitingLimit = terms.chunks.minimum + terms.outgoing.bytes(ofMs: Self.waitingLimitMs)
        guard terms.outgoing.sampleRate != 8_000 else { return }
        do { widener = try Resampler(from: 8_000, to: terms.outgoing.sampleRate) } catch {
            throw SoundReader.unsupported
        }
    }

    /// Frames of this law go to the wire as they are, a message as it comes; nil: they are converted here.
    var straightLaw: CompandingLaw? { terms.chunks.isFree ? format.law : nil }

    var hasRoom: Bool { waiting.count - head < waitingLimit }
    /// Sound waits, in the resampler or for a message to be full.
    var isHolding: Bool { frames > 0 }

    func append(_ frame: EncodedFrame) {
        if frames == 0 { firstMs = frame.timestampMs }
        frames += 1
        if let law = format.law {
            let wanted = G711.transcode(frame, to: law)
            return wanted.withBytes { waiting.append(contentsOf: $0) }
        }
        var linear = AudioFrame(sampleRate: 8_000, turn: frame.turn)
        linear.fill { buffer in
            G711.decodeTable(of: frame.law).withUnsafeBufferPointer { table in
                for index in 0..<EncodedFrame.byteCount { buffer[index] = table[Int(frame.bytes[index])] }
            }
            return EncodedFrame.byteCount
        }
        guard widener != nil else { return write(linear) }
        widened.removeAll(keepingCapacity: true)
        try? widener?.process(linear, into: &widened)
        for piece in widened { write(piece) }
    }

    private func write(_ piece: AudioFrame) {
        let channels = format.channels
        piece.withSamples { samples in
            for sample in samples {
                for _ in 0..<channels {
                    switch format.encoding {
                    case .muLaw: waiting.append(MuLaw.encode(sample))
                    case .aLaw: waiting.append(ALaw.encode(sample))
                    case .linear16(.little):
                        waiting.append(UInt8(truncatingIfNeeded: sample))
                        waiting.append(UInt8(truncatingIfNeeded: sample >> 8))
                    case .linear16(.big):
                        waiting.append(UInt8(truncatingIfNeeded: sample >> 8))
                        waiting.append(UInt8(truncatingIfNeeded: sample))
                    }
                }
            }
        }
    }

    /// Sends full messages. What `send` refuses waits.
    ///
    /// - Returns: microseconds that were sent.
    func emit(_ send: (UnsafeBufferPointer<UInt8>, UInt32) -> Bool) -> Int {
        let before = left
        while let count = terms.chunks.next(of: waiting.count - head) {
            let timestampMs = firstMs &+ UInt32(truncatingIfNeeded: format.microseconds(ofBytes: left) / 1_000)
            let isSent = waiting.withUnsafeBufferPointer {
                send(UnsafeBufferPointer(rebasing: $0[head..<(head + count)]), timestampMs)
            }
            guard isSent else { break }
            head += count
            left += count
        }
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            head = 0
        } else if head > waitingLimit {
            waiting.removeFirst(head)
            head = 0
        }
        return format.microseconds(ofBytes: left - before)
    }

    /// A mark behind what was given. False: too many wait.
    func append(mark name: String) -> Bool {
        guard marks.count < Self.markLimit else { return false }
        marks.append((name, frames))
        return true
    }

    /// The marks whose sound has left, in order, and microseconds of the sound behind each that has left with it.
    func dueMarks() -> [(name: String, behindUs: Int)] {
        guard let first = marks.first, isDue(first.frames) else { return [] }
        let count = marks.prefix { isDue($0.frames) }.count
        defer { marks.removeFirst(count) }
        return marks[..<count].map { ($0.name, format.microseconds(ofBytes: left - bytes(of: $0.frames))) }
    }

    private func isDue(_ frames: Int) -> Bool { left >= bytes(of: frames) }
    private func bytes(of frames: Int) -> Int { format.bytes(ofMs: frames * EncodedFrame.milliseconds) }

    /// No more comes for now: what waits is filled up with silence. To be emitted next.
    func fillUp() {
        guard frames > 0 else { return }
        widened.removeAll(keepingCapacity: true)
        try? widener?.finish(into: &widened)
        for piece in widened { write(piece) }
        let count = waiting.count - head
        if count > 0 {
            waiting.append(contentsOf: repeatElement(format.silence, count: terms.chunks.padded(count) - count))
        }
    }

    /// All that was given has left.
    /// - Returns: the marks that waited for it.
    func settle() -> [String] {
        guard head == waiting.count else { return [] }
        frames = 0
        left = 0
        return takeMarks()
    }

    /// Forgets what waits.
    /// - Returns: the marks that waited behind it.
    func clear() -> [String] {
        waiting.removeAll(keepingCapacity: true)
        head = 0
        widener?.flush()
        frames = 0
        left = 0
        return takeMarks()
    }

    private func takeMarks() -> [String] {
        defer { marks.removeAll(keepingCapacity: true) }
        return marks.map(\.name)
    }
}
