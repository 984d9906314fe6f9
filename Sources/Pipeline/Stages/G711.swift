/// What the two laws share: a table walk over one frame, without an allocation.
public enum G711 {
    static func decode(_ input: EncodedFrame, table: [Int16]) -> AudioFrame {
        var frame = AudioFrame(sampleRate: 8_000, turn: input.turn)
        let bytes = input.bytes.span
        frame.fill { samples in
            table.withUnsafeBufferPointer { table in
                for index in 0..<EncodedFrame.byteCount { samples[index] = table[Int(bytes[index])] }
            }
            return EncodedFrame.byteCount
        }
        return frame
    }

    static func encode(_ input: AudioFrame, law: CompandingLaw, table: [UInt8]) -> EncodedFrame {
        var frame = EncodedFrame(law: law, turn: input.turn)
        let count = min(input.count, EncodedFrame.byteCount)
        var bytes = frame.bytes.mutableSpan
        input.withSamples { samples in
            table.withUnsafeBufferPointer { table in
                for index in 0..<count { bytes[index] = table[Int(UInt16(bitPattern: samples[index]) >> 2)] }
            }
        }
        return frame
    }

    /// Magnitude of the loudest sample of a frame.
    static func peak(_ frame: EncodedFrame) -> Int16 {
        var loudest: Int32 = 0
        decodeTable(of: frame.law).withUnsafeBufferPointer { table in
            frame.withBytes { bytes in
                for index in 0..<EncodedFrame.byteCount { loudest = max(loudest, abs(Int32(table[Int(bytes[index])]))) }
            }
        }
        return Int16(clamping: loudest)
    }

    /// Linear values of a law's code words.
    public static func decodeTable(of law: CompandingLaw) -> [Int16] {
        switch law {
        case .muLaw: MuLaw.decodeTable
        case .aLaw: ALaw.decodeTable
        }
    }

    /// The same frame in the other law; unchanged if it already has it.
    public static func transcode(_ frame: EncodedFrame, to law: CompandingLaw) -> EncodedFrame {
        guard frame.law != law else { return frame }
        let decoded = decode(frame, table: decodeTable(of: frame.law))
        var result = encode(decoded, law: law, table: law == .muLaw ? MuLaw.encodeTable : ALaw.encodeTable)
        result.timestampMs = frame.timestampMs
        result.isConcealed = frame.isConcealed
        return result
    }
}

extension EncodedFrame {
    /// Magnitude of the loudest sample.
    public var peak: Int16 { G711.peak(self) }
}
