public import Foundation
public import Net

/// An upgrade that a carrier is to sign.
public struct SignedUpgrade: Sendable {
    /// As the server knows itself.
    public var url: WebSocketURL
    /// Of the URL, decoded.
    public var query: [(name: String, value: String)]
    /// With lower-case names.
    public var headers: [String: String]
    /// What the carrier uses once: 32 hex digits.
    public var nonce: String
    public var now: Date

    /// - Parameter more: query items beside the URL's.
    public init(
        _ url: WebSocketURL, adding more: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)]
    ) {
        self.url = url
        let own = url.path.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        query = ((try? HTTPForm.decode(own.utf8)) ?? []) + more
        if !more.isEmpty { self.url.path += (own.isEmpty ? "?" : "&") + HTTPForm.encode(more) }
        self.headers = Dictionary(headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
        nonce = UUID().uuidString.replacing("-", with: "").lowercased()
        now = Date()
    }

    /// The URL without its query, and with it.
    var base: String {
        let scheme = url.isSecure ? "wss" : "ws"
        return "\(scheme)://\(url.authority)\(url.path.split(separator: "?", maxSplits: 1).first ?? "/")"
    }
    var text: String { "\(url.isSecure ? "wss" : "ws")://\(url.authority)\(url.path)" }
}

extension MediaStreamDialect {
    /// Whether the dialect's carrier makes a signature of this.
    public static func canSign(_ url: WebSocketURL, token: String?, secret: String) -> Bool {
        guard let sign = traits.sign else { return false }
        var parameters: [String: String] = [:], query: [(name: String, value: String)] = []
        var given = headers(of: StreamStart(streamID: "", callID: "")).map { ($0.name, $0.value) }
        traits.tokens.first?.put(token ?? "", parameters: &parameters, headers: &given, query: &query)
        let upgrade = SignedUpgrade(url, adding: query, headers: given.map { (name: $0.0, value: $0.1) })
        return !sign(upgrade, secret).isEmpty
    }
}
