/// The G.711 law of an encoded frame (ITU-T G.711).
public enum CompandingLaw: UInt8, Sendable, Equatable, CaseIterable {
    case muLaw
    case aLaw

    /// The byte that stands for silence.
    public var silence: UInt8 {
        switch self {
        case .muLaw: 0xFF
        case .aLaw: 0xD5
        }
    }
}

/// 20 ms of G.711 at 8 kHz: 160 bytes, stored inline so that a frame costs no allocation.
public struct EncodedFrame: Sendable {
    /// Bytes, and samples, in 20 ms at 8 kHz.
    public static let byteCount = 160
    /// Length of every frame in milliseconds.
    public static let milliseconds = 20

    public var law: CompandingLaw
    /// The turn whose speech this is, counted from 1; 0 for a caller's audio and for silence.
    public var turn: Int32
    /// Milliseconds since the stream began.
    public var timestampMs: UInt32
    /// True where the far end's packet was lost and these bytes were synthesised to conceal it.
    public var isConcealed: Bool
    public var bytes: [160 of UInt8]

    public init(law: CompandingLaw = .muLaw, turn: Int32 = 0, timestampMs: UInt32 = 0) {
        self.law = law
        self.turn = turn
        self.timestampMs = timestampMs
        self.isConcealed = false
        self.bytes = .init(repeating: law.silence)
    }

    /// The 160 bytes.
    public func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        let span = bytes.span
        return try span.withUnsafeBufferPointer(body)
    }

    /// Copies up to 160 bytes; a shorter source leaves silence behind it.
    public init(copying source: UnsafeBufferPointer<UInt8>, law: CompandingLaw, timestampMs: UInt32) {
        self.init(law: law, timestampMs: timestampMs)
        var target = bytes.mutableSpan
        for index in 0..<min(source.count, Self.byteCount) { target[index] = source[index] }
    }
}

extension EncodedFrame: Equatable {
    public static func == (a: EncodedFrame, b: EncodedFrame) -> Bool {
        guard a.law == b.law, a.turn == b.turn, a.timestampMs == b.timestampMs else { return false }
        for index in a.bytes.indices where a.bytes[index] != b.bytes[index] { return false }
        return true
    }
}

/// Linear 16-bit PCM, mono, at most 20 ms at 24 kHz, stored inline.
public struct AudioFrame: Sendable {
    /// Samples in 20 ms at 24 kHz, the largest frame any stage makes.
    public static let capacity = 480

    /// Hertz.
    public var sampleRate: Int32
    /// Valid samples, 0...480.
    public private(set) var count: Int
    /// The turn whose speech this is, counted from 1; 0 for a caller's audio.
    public var turn: Int32
    public var samples: [480 of Int16]

    public init(sampleRate: Int32, turn: Int32 = 0) {
        self.sampleRate = sampleRate
        self.turn = turn
        self.count = 0
        self.samples = .init(repeating: 0)
    }

    /// Copies as many samples as fit and says how many that were.
    @discardableResult
    public mutating func append(_ source: UnsafeBufferPointer<Int16>) -> Int {
        let taken = min(source.count, Self.capacity - count)
        let start = count
        var target = samples.mutableSpan
        for index in 0..<taken { target[start + index] = source[index] }
        count += taken
        return taken
    }

    /// Lets a C routine write samples; it returns how many it wrote.
    public mutating func fill(_ body: (UnsafeMutableBufferPointer<Int16>) -> Int) {
        var span = samples.mutableSpan
        count = span.withUnsafeMutableBufferPointer { min(max(0, body($0)), Self.capacity) }
    }

    /// The valid samples.
    public func withSamples<Result>(_ body: (UnsafeBufferPointer<Int16>) throws -> Result) rethrows -> Result {
        let span = samples.span
        return try span.withUnsafeBufferPointer { try body(UnsafeBufferPointer(rebasing: $0[..<count])) }
    }
}

extension AudioFrame: Equatable {
    public static func == (a: AudioFrame, b: AudioFrame) -> Bool {
        guard a.sampleRate == b.sampleRate, a.turn == b.turn, a.count == b.count else { return false }
        for index in 0..<a.count where a.samples[index] != b.samples[index] { return false }
        return true
    }
}
