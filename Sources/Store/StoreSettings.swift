public import Settings

/// Where things are kept, encrypted by what, and for how long.
public struct StoreSettings: Sendable {
    /// Folder of the database and the recordings.
    public var folder = "data"
    /// Encrypts what is stored of people; nil: it is stored as it is.
    public var encryptionKey: Vault.Key?
    /// Keys that can still open what they encrypted.
    public var formerKeys: [Vault.Key] = []
    /// Days after its end at which a call is erased; nil: never.
    public var retentionDays: Int?
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("data", \.folder, .text, "folder of the database and the recordings")
        Setting(
            "security.encryption_key", \.encryptionKey, keyForm,
            "encrypts what is stored of people (openssl rand -hex 32 makes a key)", unset: "not encrypted",
            isSecret: true)
        Setting(
            "security.former_keys", \.formerKeys, formerKeysForm, "keys that can still open what they encrypted",
            unset: "none", isSecret: true)
        Setting(
            "security.retention_days", \.retentionDays, .whole(1...36_500, .days),
            "calls are erased so long after their end, with all that is kept of them", unset: "never")
    }

    /// The keys in use.
    public var vault: Vault { Vault(current: encryptionKey, former: formerKeys) }

    /// Why what is stored of people must be encrypted; nil: it is, or need not be.
    /// - Parameter listener: setting and address of a socket beyond loopback; nil: there is none.
    public func problem(listener: (name: String, host: String)?) -> String? {
        guard encryptionKey == nil, let listener else { return nil }
        return "\(listener.name) is \(listener.host): beyond loopback what is stored of people must be encrypted: "
            + "set TRUNKLINE_SECURITY_ENCRYPTION_KEY"
    }

    private static let keyForm = SettingForm<Vault.Key>("64 hex digits, or 32 bytes in Base64") { try Vault.Key($0) }

    private static let formerKeysForm = SettingForm<[Vault.Key]>("keys, comma-separated") { text in
        let keys = try commaSeparated(text).map { try Vault.Key($0) }
        guard keys.count <= Vault.formerKeyLimit else {
            throw ConfigurationError("has more than \(Vault.formerKeyLimit) keys")
        }
        return keys
    }
}
