internal import Pipeline

/// Packets of any length (ptime 10 to 60) → frames of 20 ms, and what stands in for those that never come: a lost
/// packet is concealed, and where the far end sends nothing at all (discontinuous transmission, RFC 3551 §4.1, or a
/// line that stands still) silence fills the time, so that all later stages measure it.
struct FrameAssembler {
    /// Milliseconds without a packet after which silence is made up; longer than the jitter buffer waits for a gap.
    static let gapMs: UInt64 = 160
    /// The same once the far end has said that it falls silent (comfort noise, RFC 3389).
    static let announcedGapMs: UInt64 = 40

    private var partial = EncodedFrame()
    private var partialCount = 0
    /// Bytes of the last packet with sound: as many as one that is lost is taken to have had.
    private var packetBytes = EncodedFrame.byteCount
    private var missing = 0
    private var concealment = Concealment()
    private var noise = ComfortNoise()
    /// Loop time until which there is sound; nil: nothing has come yet.
    private var coveredUntil: UInt64?
    private var isFilling = false
    private var isSilenceAnnounced = false
    /// Frames of silence made up.
    private(set) var filled = 0
    var concealed: Int { concealment.concealed }

    /// The next packet's sound; none in one that is a key press, say.
    mutating func packet(
        _ bytes: UnsafeBufferPointer<UInt8>, law: CompandingLaw, now: UInt64, into output: inout [EncodedFrame]
    ) {
        coveredUntil = now
        isFilling = false
        guard !bytes.isEmpty else { return }
        isSilenceAnnounced = false
        packetBytes = bytes.count
        for byte in bytes {
            partial.bytes[partialCount] = byte
            partialCount += 1
            guard partialCount == EncodedFrame.byteCount else { continue }
            partialCount = 0
            partial.law = law
            concealment.heard(partial)
            output.append(partial)
        }
    }

    mutating func lost(law: CompandingLaw, into output: inout [EncodedFrame]) {
        missing += packetBytes
        while missing >= EncodedFrame.byteCount {
            missing -= EncodedFrame.byteCount
            output.append(concealment.conceal(law: law))
        }
    }

    /// The far end falls silent, with this much noise, −dBov (RFC 3389 §3).
    mutating func comfortNoise(level: UInt8, now: UInt64) {
        coveredUntil = now
        isFilling = false
        isSilenceAnnounced = true
        noise.level = level
    }

    /// Once a tick.
    mutating func tick(now: UInt64, law: CompandingLaw, into output: inout [EncodedFrame]) {
        guard var covered = coveredUntil else { return }
        let wait = isFilling ? UInt64(EncodedFrame.milliseconds) : isSilenceAnnounced ? Self.announcedGapMs : Self.gapMs
        guard now >= covered, now - covered >= wait else { return }
        isFilling = true
        partialCount = 0
        // A stop of this process is no silence of the far end's: what lies further back is given up.
        if now - covered > 2 * Self.gapMs { covered = now - 2 * Self.gapMs }
        while now - covered >= UInt64(EncodedFrame.milliseconds) {
            covered += UInt64(EncodedFrame.milliseconds)
            filled += 1
            output.append(noise.frame(law: law))
        }
        coveredUntil = covered
    }
}

/// White noise as loud as the far end says its silence is (RFC 3389); none where it says nothing.
struct ComfortNoise {
    /// −dBov; 127 and more is digital silence.
    var level: UInt8 = 127 {
        didSet {
            // Of white noise between ±a the root mean square is a / √3.
            peak = level >= 90 ? 0 : Int32(32_767 * 1.73 * Self.ratio(decibels: Double(level)))
        }
    }
    private var peak: Int32 = 0
    private var state: UInt32 = 0x9E37_79B9

    private static func ratio(decibels: Double) -> Double {
        var value = 1.0
        // 10^(−1/20) for each decibel; no library for a hundred steps.
        for _ in 0..<min(127, max(0, Int(decibels))) { value *= 0.891_250_938 }
        return value
    }

    mutating func frame(law: CompandingLaw) -> EncodedFrame {
        var frame = EncodedFrame(law: law)
        guard peak > 0 else { return frame }
        for index in 0..<EncodedFrame.byteCount {
            state = state &* 1_664_525 &+ 1_013_904_223
            let sample = Int16(clamping: (Int32(state >> 16) - 32_768) * min(peak, 32_767) / 32_768)
            frame.bytes[index] = law == .muLaw ? MuLaw.encode(sample) : ALaw.encode(sample)
        }
        return frame
    }
}
