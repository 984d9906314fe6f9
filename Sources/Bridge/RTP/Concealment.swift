public import Pipeline

/// Stands in for a lost frame: the last one again, fading, then silence (G.711 Appendix I in spirit; 60 ms to nothing).
public struct Concealment {
    private static let gains: [Float] = [0.8, 0.5, 0.2]

    private var last: EncodedFrame?
    private var run = 0

    /// Frames made up so far.
    public private(set) var concealed = 0

    public init() {}

    public mutating func heard(_ frame: EncodedFrame) {
        last = frame
        run = 0
    }

    public mutating func conceal(law: CompandingLaw) -> EncodedFrame {
        concealed += 1
        defer { run += 1 }
        guard let last, run < Self.gains.count else {
            var silence = EncodedFrame(law: law)
            silence.isConcealed = true
            return silence
        }
        var frame = last
        let gain = Self.gains[run]
        for index in frame.bytes.indices {
            switch frame.law {
            case .muLaw: frame.bytes[index] = MuLaw.encode(Int16(Float(MuLaw.decode(last.bytes[index])) * gain))
            case .aLaw: frame.bytes[index] = ALaw.encode(Int16(Float(ALaw.decode(last.bytes[index])) * gain))
            }
        }
        frame.isConcealed = true
        return frame
    }
}
