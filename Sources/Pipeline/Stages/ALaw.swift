/// G.711 A-law, 8 kHz (ITU-T G.711, table 1a).
public enum ALaw {
    public static let decodeTable: [Int16] = (0...255).map { decodeByFormula(UInt8($0)) }
    /// Code word of every linear value, indexed by the upper 14 bits.
    static let encodeTable: [UInt8] = (0..<16_384).map { encodeByFormula(Int16(truncatingIfNeeded: ($0 << 2))) }

    static func decodeByFormula(_ byte: UInt8) -> Int16 {
        let toggled = byte ^ 0x55
        let exponent = Int((toggled >> 4) & 0x07)
        let mantissa = Int(toggled & 0x0F)
        let magnitude =
            exponent == 0 ? (mantissa << 4) + 8 : ((mantissa << 4) + 0x108) << (exponent - 1)
        return Int16(toggled & 0x80 != 0 ? magnitude : -magnitude)
    }

    static func encodeByFormula(_ sample: Int16) -> UInt8 {
        let sign: UInt8 = sample >= 0 ? 0x80 : 0
        let magnitude = min(sample >= 0 ? Int(sample) : -Int(sample) - 1, 32_767)
        var exponent = 7
        while exponent > 0, magnitude & (0x80 << exponent) == 0 { exponent -= 1 }
        let mantissa = UInt8(exponent == 0 ? (magnitude >> 4) & 0x0F : (magnitude >> (exponent + 3)) & 0x0F)
        return (sign | UInt8(exponent << 4) | mantissa) ^ 0x55
    }

    public static func decode(_ byte: UInt8) -> Int16 { decodeTable[Int(byte)] }
    public static func encode(_ sample: Int16) -> UInt8 { encodeTable[Int(UInt16(bitPattern: sample) >> 2)] }
}

/// `EncodedFrame` (A-law) → `AudioFrame` (8 kHz).
public struct ALawDecoder: Processor {
    public init() {}
    public mutating func process(_ input: EncodedFrame, into output: inout [AudioFrame]) {
        output.append(G711.decode(input, table: ALaw.decodeTable))
    }
}

/// `AudioFrame` (8 kHz, 160 samples) → `EncodedFrame` (A-law).
public struct ALawEncoder: Processor {
    public init() {}
    public mutating func process(_ input: AudioFrame, into output: inout [EncodedFrame]) {
        output.append(G711.encode(input, law: .aLaw, table: ALaw.encodeTable))
    }
}
