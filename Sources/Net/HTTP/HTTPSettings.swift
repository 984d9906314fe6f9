internal import Foundation
public import Settings

/// HTTP and TLS of the server: where it listens, by which names it is known, and which certificates are used.
public struct HTTPSettings: Sendable {
    public var server = HTTPServer.Configuration()
    /// A TLS server of the operator stands in front.
    public var isBehindProxy = false
    /// Names this server is asked by, beside loopback's and that of `publicURL`; lower case.
    public var hosts: [String] = []
    /// The dashboard's folder; nil: it is looked for.
    public var webRoot: String?
    /// Our address as others see it, without a slash at the end.
    public var publicURL: String?
    /// Certificate chain and private key, PEM files.
    public var certificate: String?
    public var key: String?
    /// Certificates that servers we call are checked against, a PEM file; nil: the system's.
    public var caFile: String?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("http.host", \.server.host, .text, "IPv4 address to listen on")
        Setting("http.port", \.server.port, .port, "TCP port of dashboard, API and WebSocket")
        Setting(
            "http.behind_proxy", \.isBehindProxy, .flag,
            "a TLS server of yours stands in front and tells the caller's address in X-Forwarded-For")
        Setting(
            "http.hosts", \.hosts, .lowercaseList,
            "names this server is asked by, beside those of loopback and of public_url", unset: "none")
        Setting("http.web_root", \.webRoot, .text, "folder of the dashboard", unset: "`web` beside the program")
        Setting(
            "public_url", \.publicURL, .webURL, "our address as providers see it, e.g. https://voice.example.com",
            unset: "none", known: ["APP_PUBLIC_BASE_URL"])
        Setting(
            "tls.certificate", \.certificate, .text,
            "certificate chain of HTTP and WebSocket, a PEM file; with tls.key: TLS on http.port", unset: "no TLS")
        Setting(
            "tls.key", \.key, .text, "its private key, a PEM file; SIGHUP reads both again, for HTTPS", unset: "none")
        Setting(
            "tls.ca_file", \.caFile, .text, "certificates that servers we call are checked against, a PEM file",
            unset: "the system's")
    }

    public var isBoundToLoopback: Bool { SocketAddress.isLoopback(server.host) }

    /// Names that a request may ask for; nil: any. Behind another server the names are its business, unless they are
    /// told.
    public var knownHosts: Set<String>? {
        let named = hosts + [publicURL.flatMap { URLComponents(string: $0)?.host?.lowercased() }].compactMap { $0 }
        if !isBoundToLoopback, named.isEmpty { return nil }
        return Set(named + ["localhost", "127.0.0.1", "[::1]", server.host])
    }

    /// Why keys would cross the wire in the clear; nil: they do not.
    public func clearTextProblem() -> String? {
        guard !isBoundToLoopback, certificate == nil, !isBehindProxy else { return nil }
        return "http.host is \(server.host): beyond loopback keys must not cross the wire in the clear: "
            + "set tls.certificate and tls.key, or --behind-proxy where a server of yours with TLS stands in front"
    }

    /// What is missing of the certificates; nil: nothing.
    public func certificateProblem() -> String? {
        for (key, path) in [("tls.certificate", certificate), ("tls.key", key), ("tls.ca_file", caFile)] {
            guard let path, !FileManager.default.isReadableFile(atPath: path) else { continue }
            return "\(key): cannot read \(path)"
        }
        return (certificate == nil) == (key == nil) ? nil : "tls.certificate and tls.key are needed both"
    }

    /// The pair of `certificate` and `key`, checked; nil: there is none. What is wrong is told by its setting: the
    /// libraries that serve the pair only say that they cannot.
    public func serverCertificate() throws(ConfigurationError) -> ServerCertificate? {
        guard let certificate, let key else { return nil }
        do throws(ServerCertificate.Problem) {
            return try ServerCertificate(certificate: certificate, key: key)
        } catch {
            let problem =
                switch error {
                case .noCertificate: "tls.certificate: \(certificate) is no certificate (PEM)"
                case .noKey: "tls.key: \(key) is no private key (PEM)"
                case .encryptedKey: "tls.key: \(key) needs a password: give the server a key without one"
                case .mismatch: "tls.key: \(key) does not belong to tls.certificate \(certificate)"
                }
            throw ConfigurationError(problem)
        }
    }
}

extension SettingForm where Value == [String] {
    fileprivate static var lowercaseList: SettingForm {
        SettingForm.list.mapped({ $0.map { $0.lowercased() } }, back: { $0 })
    }
}

extension SettingForm where Value == WebSocketURL {
    /// `ws:` or `wss:`, with a query if need be.
    public static var webSocketURL: SettingForm {
        SettingForm(
            "ws:// or wss:// URL", problem: "must be a ws:// or wss:// URL", format: { $0.text },
            parse: { WebSocketURL($0) })
    }

    /// Without query, and without a slash at the end: paths are added to it.
    public static var webSocketBase: SettingForm {
        SettingForm(
            "ws:// or wss:// URL", problem: "must be a ws:// or wss:// URL without a query", format: { $0.text },
            parse: { text in
                guard var url = WebSocketURL(text), !url.path.contains("?") else { return nil }
                if url.path.hasSuffix("/") { url.path.removeLast() }
                return url
            })
    }
}

extension SettingForm where Value == String {
    /// The text of a `ws:` or `wss:` URL.
    public static func webSocketText(withQuery: Bool) -> SettingForm {
        SettingForm(
            "ws:// or wss:// URL",
            problem: "must be a ws:// or wss:// URL" + (withQuery ? "" : " without a query"), format: { $0 },
            parse: { WebSocketURL($0) != nil && (withQuery || !$0.contains("?")) ? $0 : nil })
    }
}

extension WebSocketURL {
    /// As it is written; without the port that its scheme has anyway.
    public var text: String {
        let isUsual = port == (isSecure ? 443 : 80)
        return "\(isSecure ? "wss" : "ws")://\(host)\(isUsual ? "" : ":\(port)")\(path)"
    }
}
