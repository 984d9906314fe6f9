internal import Foundation
internal import Pipeline

extension WireFormat {
    /// `mulaw/8000`, `alaw/8000`, `l16/16000`; with a second channel `l16/8000/2`.
    public var text: String {
        let name: String =
            switch encoding {
            case .muLaw: "mulaw"
            case .aLaw: "alaw"
            case .linear16: "l16"
            }
        return "\(name)/\(sampleRate)" + (channels > 1 ? "/\(channels)" : "")
    }

    /// Loudness of sound in this format, dB of full scale (RMS of the samples); nil: it is silence, or none.
    public func level(of sound: [UInt8]) -> Double? {
        let samples = encoding.samples(of: sound)
        guard !samples.isEmpty else { return nil }
        let power = samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(samples.count)
        return power > 0 ? 10 * log10(power / (32_768 * 32_768)) : nil
    }
}

extension WireFormat.Encoding {
    /// As people call it.
    var words: String {
        switch self {
        case .muLaw: "μ-law"
        case .aLaw: "A-law"
        case .linear16(.little): "linear PCM with the low byte first"
        case .linear16(.big): "linear PCM with the high byte first"
        }
    }

    func samples(of sound: [UInt8]) -> [Int16] {
        switch self {
        case .muLaw: return sound.map { MuLaw.decode($0) }
        case .aLaw: return sound.map { ALaw.decode($0) }
        case .linear16(let order):
            return stride(from: 0, to: sound.count - 1, by: 2).map { index in
                let (first, second) = (UInt16(sound[index]), UInt16(sound[index + 1]))
                return Int16(bitPattern: order == .little ? first | second << 8 : first << 8 | second)
            }
        }
    }
}
