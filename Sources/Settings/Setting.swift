/// Something in the configuration is wrong.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and where it stands, one text each; at least one.
    public let problems: [String]
    public init(_ problem: String) { problems = [problem] }

    /// - Returns: nil where there are no problems.
    public init?(_ problems: [String]) {
        guard !problems.isEmpty else { return nil }
        self.problems = problems
    }

    public var description: String { problems.joined(separator: "\n") }
}

/// One setting: a key of the configuration, and the property of a room's settings that it sets.
///
/// A room declares its settings beside the struct they set, as `static var keys`. The default is the property's initial
/// value, and stands nowhere else.
public struct Setting<Root>: Sendable {
    /// As in the configuration file, e.g. `outbound.ring_timeout`.
    public let key: String
    /// What it means. Values, unit and default are not told here: they are known.
    public let help: String
    /// Values that may be given, with their unit, e.g. `1…600 s`.
    public let allowed: String
    /// Given by the environment or as `file:/path` only, and never printed.
    public let isSecret: Bool
    /// Names of environment variables by which it is known elsewhere, e.g. `OPENAI_API_KEY`.
    public let knownNames: [String]
    /// What holds where nothing is set, if the default value does not tell: there is none, or this machine decides.
    public let unset: String?
    let set: @Sendable (inout Root, String) throws -> Void
    let text: @Sendable (Root) -> String?
    /// A setting of a group, whose names the operator chooses; nil: the setting is one by itself.
    let member: (@Sendable (_ name: String) -> Setting?)?

    /// A property with a default.
    /// - Parameter unset: of a default that depends on the machine, or is an empty list.
    public init<Value>(
        _ key: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ form: SettingForm<Value>, _ help: String,
        unset: String? = nil, isSecret: Bool = false, known: [String] = []
    ) {
        self.init(
            key: key, help: help, allowed: form.allowed, isSecret: isSecret, knownNames: known, unset: unset,
            set: { $0[keyPath: path] = try form.parse($1) }, text: { form.format($0[keyPath: path]) })
    }

    /// A property that is nil until it is set.
    public init<Value>(
        _ key: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ form: SettingForm<Value>, _ help: String,
        unset: String, isSecret: Bool = false, known: [String] = []
    ) {
        self.init(
            key: key, help: help, allowed: form.allowed, isSecret: isSecret, knownNames: known, unset: unset,
            set: { $0[keyPath: path] = try form.parse($1) }, text: { $0[keyPath: path].flatMap(form.format) })
    }

    /// Secrets under names that the operator chooses: `tools.secrets.NAME`.
    /// - Parameter isName: whether a name, in small letters, may be one of the group.
    public init(
        group: String, _ path: any WritableKeyPath<Root, [String: String]> & Sendable, _ form: SettingForm<String>,
        _ help: String, unset: String, isName: @escaping @Sendable (String) -> Bool
    ) {
        let named: @Sendable (String, String) -> Setting = { title, name in
            Setting(
                key: "\(group).\(title)", help: help, allowed: form.allowed, isSecret: true, knownNames: [],
                unset: unset, set: { $0[keyPath: path][name] = try form.parse($1) }, text: { _ in nil })
        }
        let template = named("NAME", "name")
        self.init(
            key: template.key, help: help, allowed: form.allowed, isSecret: true, knownNames: [], unset: unset,
            set: template.set, text: template.text, member: { isName($0) ? named($0, $0) : nil })
    }

    private init(
        key: String, help: String, allowed: String, isSecret: Bool, knownNames: [String], unset: String?,
        set: @escaping @Sendable (inout Root, String) throws -> Void, text: @escaping @Sendable (Root) -> String?,
        member: (@Sendable (_ name: String) -> Setting?)? = nil
    ) {
        self.key = key
        self.help = help
        self.allowed = allowed
        self.isSecret = isSecret
        self.knownNames = knownNames
        self.unset = unset
        self.set = set
        self.text = text
        self.member = member
    }

    /// The same setting of a struct that holds this one.
    /// - Parameter prefix: put before the key, with a dot: `url` becomes `llm.groq.url`.
    public func under<Outer>(_ path: any WritableKeyPath<Outer, Root> & Sendable, _ prefix: String = "") -> Setting<
        Outer
    > {
        let (set, text, member) = (set, text, member)
        return Setting<Outer>(
            key: prefix.isEmpty ? key : prefix + "." + key, help: help, allowed: allowed, isSecret: isSecret,
            knownNames: knownNames, unset: unset, set: { try set(&$0[keyPath: path], $1) },
            text: { text($0[keyPath: path]) },
            member: member.map { member in { @Sendable name in member(name)?.under(path, prefix) } })
    }

    /// Checks `value` and sets it.
    public func apply(_ value: String, to root: inout Root) throws(ConfigurationError) {
        do { try set(&root, value) } catch { throw ConfigurationError("\(error)") }
    }

    /// The value that `root` has now, as it would be written; nil where there is none, and for secrets.
    public func value(in root: Root) -> String? { isSecret ? nil : text(root) }

    /// The default as it would be written; nil where `unset` tells it.
    public func defaultValue(in defaults: Root) -> String? { unset == nil ? value(in: defaults) : nil }

    /// The setting of a group's name; nil: this is no group, or the key is none of its.
    func member(key other: String) -> Setting? {
        guard let member, let dot = key.lastIndex(of: "."), other.hasPrefix(key[...dot]) else { return nil }
        return member(String(other.dropFirst(key[...dot].count)))
    }

    /// `outbound.ring_timeout` → `TRUNKLINE_OUTBOUND_RING_TIMEOUT`.
    public var environmentName: String {
        SettingNames.prefix + String(key.uppercased().map { $0 == "." ? "_" : $0 })
    }
}

/// Names of the environment.
public enum SettingNames {
    public static let prefix = "TRUNKLINE_"
    /// Path of the configuration file.
    public static let file = "TRUNKLINE_CONFIG"
}

extension Array {
    /// The same settings of a struct that holds this one.
    public func under<Root, Outer>(
        _ path: any WritableKeyPath<Outer, Root> & Sendable, _ prefix: String = ""
    ) -> [Setting<Outer>] where Element == Setting<Root> {
        map { $0.under(path, prefix) }
    }
}

/// One setting a line, and lists of them.
@resultBuilder
public enum SettingsBuilder<Root> {
    public static func buildExpression(_ setting: Setting<Root>) -> [Setting<Root>] { [setting] }
    public static func buildExpression(_ settings: [Setting<Root>]) -> [Setting<Root>] { settings }
    public static func buildBlock(_ parts: [Setting<Root>]...) -> [Setting<Root>] { parts.flatMap(\.self) }
    public static func buildArray(_ parts: [[Setting<Root>]]) -> [Setting<Root>] { parts.flatMap(\.self) }
}
