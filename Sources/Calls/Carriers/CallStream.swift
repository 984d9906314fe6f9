internal import Bridge
internal import Foundation
internal import Net
public import Problems

extension Call {
    /// The server that is to hold a call's conversation, as the request wants it. The values of its headers and
    /// parameters may be secrets: no answer of the API shows them, or `secret`.
    public struct Stream: Sendable, Equatable, Codable {
        /// Characters of the URL.
        public static let urlLimit = 2_048
        /// Headers, characters of a name and of a value, and bytes of them all.
        public static let headerLimit = 16
        public static let headerNameLimit = 64
        public static let headerValueLimit = 2_048
        public static let headerBytes = 8_192
        /// Parameters, and characters of a name and of a value.
        public static let parameterLimit = 32
        public static let parameterNameLimit = 64
        public static let parameterValueLimit = 512
        /// Characters of the secret.
        public static let secretLimit = 512

        public var url: String
        /// Name of a dialect (`Dialects`).
        public var dialect: String
        public var headers: [String: String]
        public var parameters: [String: String]
        /// Signs the upgrade, as the dialect's carrier does; nil: it is not signed.
        public var secret: String?

        public init(
            url: String, dialect: String, headers: [String: String] = [:], parameters: [String: String] = [:],
            secret: String? = nil
        ) {
            self.url = url
            self.dialect = dialect
            self.headers = headers
            self.parameters = parameters
            self.secret = secret
        }

        /// Where it leads, without the query: that may hold a token.
        public var place: String { String(url.prefix { $0 != "?" }) }
    }
}

/// Rules for what a request may say of a call's own stream.
extension Call.Stream {
    /// Told with every stream; see `StreamTarget`.
    static let ownParameters: Set<String> = ["outbound_id", "inbound_id", "brief", "from", "to"]
    /// Of HTTP and of the WebSocket's handshake (RFC 9110 §7, RFC 6455 §4.1), lower case.
    private static let ownHeaders: Set<String> = [
        "host", "connection", "upgrade", "origin", "content-length", "transfer-encoding", "te", "trailer", "expect",
        "keep-alive", "proxy-connection",
    ]

    /// What is wrong with the URL; nil: nothing.
    public static func problem(url: String, isBoundToLoopback: Bool) -> Problem? {
        guard URIText.isValid(url) else { return Problem(.characterNotInUrl) }
        guard let parts = URLComponents(string: url), parts.fragment == nil, let parsed = WebSocketURL(url) else {
            return Problem(.notWebSocketUrl)
        }
        guard parts.user == nil, parts.password == nil else { return Problem(.credentialsInUrl) }
        guard parsed.isSecure || isBoundToLoopback && SocketAddress.isLoopback(parsed.host) else {
            return Problem(.wsOnlyOnLoopback)
        }
        return nil
    }

    /// What is wrong with a header; nil: nothing.
    public static func problem(header name: String, value: String, dialect: String) -> Problem? {
        guard isToken(name) else { return Problem(.notHeaderName) }
        let lower = name.lowercased()
        let start = StreamStart(streamID: "", callID: "")
        let dialects = Dialects.named(dialect)?.headers(of: start).map { $0.name.lowercased() } ?? []
        guard !ownHeaders.contains(lower), !lower.hasPrefix("sec-websocket-"), !dialects.contains(lower) else {
            return Problem(.reservedName)
        }
        // RFC 9110 §5.5, without what is not ASCII.
        let isValue = value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
        return isValue ? nil : Problem(.notHeaderValue)
    }

    /// What is wrong with the secret; nil: nothing.
    public var secretProblem: Problem? {
        guard let secret, let url = WebSocketURL(url), let named = Dialects.named(dialect) else { return nil }
        guard let sign = named.traits.sign else { return Problem(.signsNoUpgrades) }
        let given =
            named.headers(of: StreamStart(streamID: "", callID: "")) + headers.map { (name: $0.key, value: $0.value) }
        return sign(SignedUpgrade(url, headers: given), secret).isEmpty ? Problem(.notSigningSecret) : nil
    }

    /// What is wrong with a parameter; nil: nothing.
    public static func problem(parameter name: String) -> Problem? {
        ownParameters.contains(name) ? Problem(.reservedName) : nil
    }

    /// RFC 9110 §5.6.2.
    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
