/// What the detector says of one frame.
public struct VoiceActivity: Sendable, Equatable {
    /// A line whose noise floor is above this is noisy, dB below full scale. Telephone lines have −70 to −55.
    private static let quietFloor: Float = -50

    public var isSpeech: Bool
    /// A sound that may prove to be speech: reason enough to be silent, but no turn of the caller's yet.
    public var isInDoubt = false
    /// Frame energy in dB below full scale, −96...0.
    public var level: Float
    /// The quietest frame of the last one to two seconds before this one, dB below full scale, −70...−35.
    public var noiseFloor: Float
    public init(isSpeech: Bool, level: Float, noiseFloor: Float = -70) {
        self.isSpeech = isSpeech
        self.level = level
        self.noiseFloor = noiseFloor
    }

    /// On a quiet line what stands out of the floor is a sound of the caller's.
    public var isQuietLine: Bool { noiseFloor <= Self.quietFloor }
}

/// Speech or not, a frame at a time: energy over a tracked noise floor, helped by the zero-crossing rate.
///
/// Reads G.711 through the law's table: no decoding, no allocation. For speech against babble use a trained detector.
public struct VoiceActivityDetector: Processor {
    public struct Configuration: Sendable, Equatable {
        /// 0...1 as in the speech services: 0.5 means 9 dB over the noise floor, 0 means 3 dB, 1 means 15 dB.
        public var threshold: Float
        /// Nothing below this is speech, however quiet the line (dB below full scale).
        public var minimumLevel: Float
        public init(threshold: Float = 0.5, minimumLevel: Float = -45) {
            self.threshold = min(max(threshold, 0), 1)
            self.minimumLevel = minimumLevel
        }
    }

    /// The noise floor is the quietest frame of the last one to two windows: speech has gaps that often, steady noise
    /// has none.
    private static let floorWindow = 50
    private static let floorRange: ClosedRange<Float> = -70...(-35)

    private let configuration: Configuration
    private var noiseFloor: Float = -60
    private var previousMinimum: Float = -60
    private var currentMinimum: Float = 0
    private var framesInWindow = 0

    public init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    public mutating func process(_ input: EncodedFrame, into output: inout [VoiceActivity]) {
        output.append(detect(input))
    }

    /// One frame in, one verdict out.
    public mutating func detect(_ frame: EncodedFrame) -> VoiceActivity {
        var energy: Int64 = 0
        var crossings: Int32 = 0
        let table = frame.law == .muLaw ? MuLaw.decodeTable : ALaw.decodeTable
        table.withUnsafeBufferPointer { table in
            frame.withBytes { bytes in
                guard let sample = table.baseAddress, let byte = bytes.baseAddress else { return }
                // A byte is an index below 256, and a frame has 160: nothing to check, and whole numbers need not wait
                // for each other.
                var previous: Int32 = 0
                for index in 0..<EncodedFrame.byteCount {
                    let value = Int32(sample[Int(byte[index])])
                    energy &+= Int64(value &* value)
                    crossings &+= ((value ^ previous) >> 31) & 1
                    previous = value
                }
            }
        }
        let level = Self.decibels(meanSquare: Float(energy) / Float(EncodedFrame.byteCount))
        if frame.isConcealed { return VoiceActivity(isSpeech: false, level: level, noiseFloor: noiseFloor) }
        let margin = 3 + 12 * configuration.threshold
        // Fricatives are weak but cross zero often: they keep a word together.
        let isFricative = crossings > 60 && level > noiseFloor + margin * 0.6
        let isSpeech = level > configuration.minimumLevel && (level > noiseFloor + margin || isFricative)
        defer { track(level) }
        return VoiceActivity(isSpeech: isSpeech, level: level, noiseFloor: noiseFloor)
    }

    private mutating func track(_ level: Float) {
        currentMinimum = min(currentMinimum, level)
        framesInWindow += 1
        if framesInWindow == Self.floorWindow {
            previousMinimum = currentMinimum
            currentMinimum = 0
            framesInWindow = 0
        }
        noiseFloor = min(
            max(min(previousMinimum, currentMinimum), Self.floorRange.lowerBound), Self.floorRange.upperBound)
    }

    /// Mean square of 16-bit samples as dB below full scale, from the exponent and a quadratic of the mantissa:
    /// within 0.1 dB, and much cheaper than a logarithm.
    static func decibels(meanSquare: Float) -> Float {
        guard meanSquare > 1 else { return -96 }
        let bits = meanSquare.bitPattern
        let exponent = Float(Int(bits >> 23) - 127)
        let mantissa = Float(bitPattern: (bits & 0x7F_FFFF) | 0x3F80_0000)
        let log2 = exponent + (-0.344_845 * mantissa + 2.024_658) * mantissa - 1.674_873
        return min(0, 3.010_3 * log2 - 90.309)
    }
}
