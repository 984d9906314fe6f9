internal import Foundation
public import Net
public import Settings

extension UserAgent.Configuration {
    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("sip.host", \.host, .text, "IPv4 address of SIP and RTP")
        Setting("sip.port", \.port, .port, "SIP port, UDP and TCP")
        Setting(
            "sip.advertised_host", \.advertisedHost, .text, "address told to peers, where it differs (NAT)",
            unset: "sip.host")
        Setting(
            "sip.session_expires", \.sessionExpires, .whole(0...86_400, .seconds),
            "session timer, RFC 4028; 0: only where the far end wants one")
        Setting(
            "sip.tls_port", \.tlsPort, .port, "TCP port of SIP over TLS, with tls.certificate and tls.key",
            unset: "no SIP over TLS")
        Setting("sip.verify_tls", \.verifiesTLS, .flag, "check the certificates of SIP servers")
    }

    /// What SIP over TLS still needs; nil: nothing.
    public func tlsProblem(_ http: HTTPSettings) -> String? {
        tlsPort != nil && http.certificate == nil ? "sip.tls_port needs tls.certificate and tls.key" : nil
    }

    /// Writes what sofia wants: a folder with certificate and key in one file, and the authorities in another.
    public mutating func prepareTLS(_ http: HTTPSettings, in folder: String) throws(ConfigurationError) {
        guard tlsPort != nil, let certificate = http.certificate, let key = http.key else { return }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let pair = try [key, certificate].map { try String(contentsOfFile: $0, encoding: .utf8) }
            let authorities = try String(contentsOfFile: http.caFile ?? certificate, encoding: .utf8)
            for (name, text) in [("agent.pem", pair.joined(separator: "\n")), ("cafile.pem", authorities)] {
                let path = folder + "/" + name
                try? FileManager.default.removeItem(atPath: path)
                guard
                    FileManager.default.createFile(
                        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
                else { throw ConfigurationError("cannot write \(path)") }
            }
        } catch let error as ConfigurationError { throw error } catch {
            throw ConfigurationError("sip.tls_port: \(error.localizedDescription)")
        }
        tlsFolder = folder
    }
}

/// How phones and trunks that call in prove who they are.
public struct DigestSettings: Sendable {
    public var realm = "trunkline"
    /// The best first.
    public var algorithms: [DigestAuthenticator.Algorithm] = [.md5]
    /// User names and passwords of trunks.
    public var trunks: [String: String] = [:]
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "sip.realm", \.realm, realmForm, "realm of the passwords of operators' phones; changing it voids them")
        Setting(
            "sip.digest", \.algorithms, .list(of: algorithmForm),
            "algorithms offered to phones; most phones know no other than MD5")
        Setting(
            "inbound.accounts", \.trunks, accountsForm, "trunks that prove who they are", unset: "none",
            isSecret: true)
    }

    /// Of the trunks, by user name.
    public var secrets: [String: DigestAuthenticator.Secret] {
        trunks.reduce(into: [:]) { secrets, trunk in
            secrets[trunk.key] = .init(user: trunk.key, realm: realm, password: trunk.value)
        }
    }

    private static let realmForm = SettingForm<String>(
        "1 to 64 letters, digits, '-', '_' and '.'", problem: "must have 1 to 64 letters, digits, '-', '_' and '.'",
        format: { $0 },
        parse: { text in
            let isGood =
                (1...64).contains(text.count)
                && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
            return isGood ? text : nil
        })

    private static let algorithmForm = SettingForm<DigestAuthenticator.Algorithm>(
        "SHA-256, MD5 or both", problem: "must be SHA-256, MD5 or both", format: { $0.rawValue },
        parse: { DigestAuthenticator.Algorithm(rawValue: $0.uppercased()) })

    private static let accountsForm = SettingForm<[String: String]>(
        "user:password, comma-separated",
        parse: { text in
            var accounts: [String: String] = [:]
            for account in commaSeparated(text) {
                let parts = account.split(separator: ":", maxSplits: 1).map(String.init)
                guard parts.count == 2 else { throw ConfigurationError("must be user:password, comma-separated") }
                accounts[parts[0]] = parts[1]
            }
            return accounts
        })
}
