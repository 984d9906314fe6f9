/// What Plivo streams (plivo.com/docs/voice/xml/audiostream, `contentType`): μ-law at 8 kHz, or linear 16-bit PCM at 8
/// or 16 kHz, the low byte first, as the vendor's own plivo-labs/agent-transport has it.
///
/// Vobiz streams the high byte first and plays the low byte first, and nothing in a message tells it from Plivo: its
/// `<Stream>` is to ask for μ-law (`contentType="audio/x-mulaw;rate=8000"`).
enum PlivoFormat {
    static let all: [WireFormat] = [.muLaw8k, linear(16_000), linear(8_000)]

    static func linear(_ rate: Int32) -> WireFormat { WireFormat(.linear16(.little), sampleRate: rate) }

    static func encoding(of format: WireFormat) -> String {
        format == .muLaw8k ? "audio/x-mulaw" : "audio/x-l16"
    }

    /// - Parameter given: hertz beside the media type, which may have a rate of its own.
    /// - Returns: nil: neither Plivo nor Vobiz has it.
    static func named(_ encoding: String, rate given: Int?) -> WireFormat? {
        let (name, rate) = WireFormat.mediaType(encoding)
        switch (name, given ?? rate ?? 8_000) {
        case ("mulaw", 8_000): return .muLaw8k
        case ("l16", 8_000): return linear(8_000)
        case ("l16", 16_000): return linear(16_000)
        // Vobiz plays this, too.
        case ("l16", 24_000): return linear(24_000)
        default: return nil
        }
    }

    /// Bytes of sound in a `playAudio`, ten seconds at 16 kHz: Plivo names no limit, and an application may send an
    /// utterance as a whole. The same for every format, for the message tells its own.
    static let longestPlayBytes = 320_000

    /// Plivo sends 20 ms a message, and takes any length; a tenth of a second then.
    static func terms(incoming: WireFormat, outgoing: WireFormat, _ role: MediaStreamRole) -> WireTerms {
        switch role {
        case .application: return WireTerms(incoming: incoming, outgoing: outgoing, chunks: .any(frames: 5))
        case .carrier:
            let chunks = outgoing == .muLaw8k ? ChunkRule.any(frames: 1) : .exactly(outgoing.bytes(ofMs: 20))
            return WireTerms(
                incoming: incoming, outgoing: outgoing, chunks: chunks,
                longestMs: longestPlayBytes * 1_000 / incoming.bytes(ofMs: 1_000))
        }
    }
}
