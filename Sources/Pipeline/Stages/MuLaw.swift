/// G.711 μ-law, 8 kHz (ITU-T G.711, table 2a).
public enum MuLaw {
    /// Linear value of every code word.
    public static let decodeTable: [Int16] = (0...255).map { decodeByFormula(UInt8($0)) }
    /// Code word of every linear value, indexed by the upper 14 bits.
    static let encodeTable: [UInt8] = (0..<16_384).map { encodeByFormula(Int16(truncatingIfNeeded: ($0 << 2))) }

    static func decodeByFormula(_ byte: UInt8) -> Int16 {
        let inverted = ~byte
        let exponent = Int((inverted >> 4) & 0x07)
        let mantissa = Int(inverted & 0x0F)
        let magnitude = ((mantissa << 3) + 0x84) << exponent
        return Int16(inverted & 0x80 == 0 ? magnitude - 0x84 : 0x84 - magnitude)
    }

    static func encodeByFormula(_ sample: Int16) -> UInt8 {
        let sign: UInt8 = sample < 0 ? 0x80 : 0
        let magnitude = min(abs(Int(sample)), 32_635) + 0x84
        var exponent = 7
        while exponent > 0, magnitude & (0x80 << exponent) == 0 { exponent -= 1 }
        let mantissa = UInt8((magnitude >> (exponent + 3)) & 0x0F)
        return ~(sign | UInt8(exponent << 4) | mantissa)
    }

    @inlinable
    public static func decode(_ byte: UInt8) -> Int16 { decodeTable[Int(byte)] }

    public static func encode(_ sample: Int16) -> UInt8 {
        encodeTable[Int(UInt16(bitPattern: sample) >> 2)]
    }
}

/// `EncodedFrame` (μ-law) → `AudioFrame` (8 kHz).
public struct MuLawDecoder: Processor {
    public init() {}
    public mutating func process(_ input: EncodedFrame, into output: inout [AudioFrame]) {
        output.append(G711.decode(input, table: MuLaw.decodeTable))
    }
}

/// `AudioFrame` (8 kHz, 160 samples) → `EncodedFrame` (μ-law).
public struct MuLawEncoder: Processor {
    public init() {}
    public mutating func process(_ input: AudioFrame, into output: inout [EncodedFrame]) {
        output.append(G711.encode(input, law: .muLaw, table: MuLaw.encodeTable))
    }
}
