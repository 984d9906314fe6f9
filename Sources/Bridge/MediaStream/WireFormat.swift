internal import Pipeline

/// How the sound of a media stream is written on the wire.
public struct WireFormat: Sendable, Equatable {
    public enum Encoding: Sendable, Equatable {
        /// G.711 (ITU-T G.711), a byte a sample.
        case muLaw, aLaw
        /// Linear 16-bit PCM, two bytes a sample.
        case linear16(ByteOrder)
    }
    public enum ByteOrder: Sendable, Equatable { case little, big }

    /// Hertz that can be converted to and from frames of 8 kHz.
    public static let sampleRates: ClosedRange<Int32> = 8_000...64_000

    public var encoding: Encoding
    /// Hertz.
    public var sampleRate: Int32
    /// Interleaved. The first is the caller's and is the one that is heard; what we say goes into each.
    public var channels: Int

    public init(_ encoding: Encoding, sampleRate: Int32 = 8_000, channels: Int = 1) {
        self.encoding = encoding
        self.sampleRate = sampleRate
        self.channels = channels
    }

    public static let muLaw8k = WireFormat(.muLaw)
    public static let aLaw8k = WireFormat(.aLaw)

    /// Bytes of one sample.
    var sampleBytes: Int { if case .linear16 = encoding { 2 } else { 1 } }
    /// Bytes of one sample of all channels.
    var stride: Int { sampleBytes * channels }
    /// Bytes of a time in milliseconds.
    public func bytes(ofMs milliseconds: Int) -> Int { Int(sampleRate) * milliseconds / 1_000 * stride }
    /// Microseconds of a number of bytes.
    func microseconds(ofBytes count: Int) -> Int { count / stride * 1_000_000 / Int(sampleRate) }
    /// Its bytes are those of our frames; then nothing is decoded.
    var law: CompandingLaw? {
        guard sampleRate == 8_000, channels == 1 else { return nil }
        return switch encoding {
        case .muLaw: .muLaw
        case .aLaw: .aLaw
        case .linear16: nil
        }
    }
    /// It can be converted.
    var isSupported: Bool { Self.sampleRates.contains(sampleRate) && (1...2).contains(channels) }
}

/// How much sound one message may hold, as the far end wants it. What does not fill a message waits for more; when no
/// more comes in time it is filled up with silence.
public struct ChunkRule: Sendable, Equatable {
    /// Bytes of the smallest and of the largest message.
    public var minimum: Int
    public var maximum: Int
    /// Every message is a multiple of so many bytes.
    public var multiple: Int
    /// Frames that a message had best hold where speech is sent ahead of its time.
    public var frames: Int

    public init(minimum: Int = 1, maximum: Int = .max, multiple: Int = 1, frames: Int = 1) {
        self.minimum = max(1, minimum)
        self.maximum = max(self.minimum, maximum)
        self.multiple = max(1, multiple)
        self.frames = max(1, frames)
    }

    /// A message of any length will do.
    public static func any(frames: Int) -> ChunkRule { ChunkRule(frames: frames) }
    /// Every message has this many bytes.
    public static func exactly(_ bytes: Int) -> ChunkRule {
        ChunkRule(minimum: bytes, maximum: bytes, multiple: bytes)
    }

    var isFree: Bool { minimum == 1 && maximum == .max && multiple == 1 }

    /// Bytes that may go into one message, of those that wait; nil: it is too early.
    func next(of waiting: Int) -> Int? {
        let count = min(waiting, maximum) / multiple * multiple
        return count >= minimum && count > 0 ? count : nil
    }

    /// Bytes of the smallest message that holds so many.
    func padded(_ waiting: Int) -> Int {
        let wanted = max(waiting, minimum)
        return (wanted + multiple - 1) / multiple * multiple
    }
}

/// What is on the wire: fixed by the dialect, or agreed on by its handshake.
public struct WireTerms: Sendable, Equatable {
    /// What comes, and what is sent.
    public var incoming: WireFormat
    public var outgoing: WireFormat
    /// Of what is sent.
    public var chunks: ChunkRule
    /// Milliseconds of sound in one message that comes; carriers send 20 to 200.
    public var longestMs: Int

    public init(incoming: WireFormat, outgoing: WireFormat, chunks: ChunkRule, longestMs: Int = 1_000) {
        self.incoming = incoming
        self.outgoing = outgoing
        self.chunks = chunks
        self.longestMs = longestMs
    }
}
