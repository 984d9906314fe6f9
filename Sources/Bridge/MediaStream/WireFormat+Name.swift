/// Formats as settings name them: `mulaw/8000`, `alaw/8000`, `l16/16000`, and `l16be/16000`, whose high byte is first.
extension WireFormat {
    /// Of one channel.
    public var name: String {
        let encoding =
            switch encoding {
            case .muLaw: "mulaw"
            case .aLaw: "alaw"
            case .linear16(.little): "l16"
            case .linear16(.big): "l16be"
            }
        return "\(encoding)/\(sampleRate)"
    }

    /// The name in a media type, in lower case and without `audio/x-`, and its rate: `audio/x-L16;rate=16000` is `l16`
    /// and 16 000 Hz.
    static func mediaType(_ text: String) -> (name: String, rate: Int?) {
        let parts = text.lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
        var name = parts.first ?? ""
        for prefix in ["audio/", "x-"] where name.hasPrefix(prefix) { name.removeFirst(prefix.count) }
        let rate = parts.dropFirst().first { $0.hasPrefix("rate=") }.flatMap { Int($0.dropFirst("rate=".count)) }
        return (name, rate)
    }
}

extension DialectTraits {
    private var named: [WireFormat] {
        var named = formats.filter { $0.channels == 1 }
        if leavesByteOrderOpen {
            for format in named where format.isLinear {
                named.append(WireFormat(.linear16(.big), sampleRate: format.sampleRate))
            }
        }
        return named
    }

    /// Names of the formats that a carrier may announce, best first.
    public var formatNames: [String] { named.map(\.name) }

    public func format(named name: String) -> WireFormat? { named.first { $0.name == name } }
}
