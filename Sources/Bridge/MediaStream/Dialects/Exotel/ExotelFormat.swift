/// What Exotel streams (developer.exotel.com/docs/agentstream/stream-voicebot-applet): linear 16-bit PCM, the low byte
/// first, at 8, 16 or 24 kHz, as the `sample-rate` in the stream's URL says, or μ-law at 8 kHz (the default of
/// `StartStream` and of the beta applets). `media_format` of `start` decides.
enum ExotelFormat {
    /// Milliseconds of sound in a message of Exotel's.
    static let carrierMs = 100
    /// Of a message to it: milliseconds and bytes at least, bytes at most, and what it must be a multiple of, or there
    /// are gaps. The page says "3.2 KB (100ms of data)", which is so at 16 kHz; both are kept.
    static let leastMs = 100
    static let leastBytes = 3_200
    static let mostBytes = 100_000
    static let multiple = 320

    static let rates: [Int32] = [8_000, 16_000, 24_000]
    static let all: [WireFormat] = rates.map { linear($0) } + [.muLaw8k]

    static func linear(_ rate: Int32) -> WireFormat { WireFormat(.linear16(.little), sampleRate: rate) }

    static func encoding(of format: WireFormat) -> String { format == .muLaw8k ? "audio/x-mulaw" : "audio/x-raw" }

    /// nil: Exotel has no such format. Of linear PCM it has several names; `base64` is one.
    static func named(_ encoding: String, rate given: Int) -> WireFormat? {
        let (name, rate) = WireFormat.mediaType(encoding)
        let hertz = rate ?? given
        switch name {
        case "mulaw", "ulaw", "pcmu": return hertz == 8_000 ? .muLaw8k : nil
        case "", "raw", "slin", "raw/slin", "base64", "l16", "pcm", "pcm16", "linear16":
            return rates.first { Int($0) == hertz }.map { linear($0) }
        default: return nil
        }
    }

    /// Hertz that the stream's URL asks for; nil: none, or one that is not Exotel's.
    static func rate(in query: [(name: String, value: String)]) -> Int32? {
        let text = query.first { $0.name == "sample-rate" || $0.name == "sample_rate" }?.value
        return rates.first { String($0) == text }
    }

    static func terms(_ format: WireFormat, _ role: MediaStreamRole) -> WireTerms {
        switch role {
        case .carrier:
            return WireTerms(
                incoming: format, outgoing: format, chunks: .exactly(format.bytes(ofMs: carrierMs)),
                longestMs: mostBytes * 1_000 / format.bytes(ofMs: 1_000) + 1)
        case .application:
            let least = max(leastBytes, format.bytes(ofMs: leastMs))
            let chunks = ChunkRule(
                minimum: least, maximum: mostBytes / multiple * multiple, multiple: multiple,
                frames: least / format.bytes(ofMs: 20))
            return WireTerms(incoming: format, outgoing: format, chunks: chunks)
        }
    }
}
