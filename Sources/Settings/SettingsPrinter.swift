/// Prints settings with their defaults: for people, as `.env.example`, and as the table of docs/configuration.md.
public struct SettingsPrinter<Root> {
    private let settings: [Setting<Root>]
    private let defaults: Root

    public init(_ settings: [Setting<Root>], defaults: Root) {
        self.settings = settings
        self.defaults = defaults
    }

    /// Key, value, where that came from, meaning and variables.
    public func list(_ found: [String: SettingsReader<Root>.Found]) -> String {
        settings.map { listed($0, found[$0.key]) }.joined()
    }

    private func listed(_ setting: Setting<Root>, _ given: SettingsReader<Root>.Found?) -> String {
        let initial = setting.defaultValue(in: defaults) ?? setting.unset ?? ""
        var line = "\(setting.key): "
        if let given {
            line += "\(setting.isSecret ? "(secret)" : given.text)   [\(given.place); default: \(initial)]"
        } else {
            line += "\(initial)   [default]"
        }
        let note = setting.isSecret ? "; a secret: by the environment, or as file:/path" : ""
        let names = ([setting.environmentName] + setting.knownNames).joined(separator: ", ")
        return "\(line)\n    \(setting.help)\n    \(setting.allowed)\(note)\n    \(names)\n"
    }

    /// A `.env` in which every setting is commented out, with its default where it has one that can be written.
    public var environmentFile: String {
        """
        # Every setting of Trunkline, as environment variables; copy to .env in the working folder.
        # Printed by `trunkline config env`: do not edit.

        """ + settings.map(variable).joined()
    }

    private func variable(_ setting: Setting<Root>) -> String {
        var notes = [setting.allowed]
        if let unset = setting.unset { notes.append("unset: \(unset)") }
        if setting.isSecret { notes.append("secret") }
        if !setting.knownNames.isEmpty { notes.append("also \(setting.knownNames.joined(separator: ", "))") }
        return """

            # \(setting.key): \(setting.help)
            # (\(notes.joined(separator: "; ")))
            # \(setting.environmentName)=\(setting.defaultValue(in: defaults) ?? "")

            """
    }

    /// Markdown.
    public var table: String {
        "| key | default | values | meaning |\n|---|---|---|---|\n" + settings.map(row).joined()
    }

    private func row(_ setting: Setting<Root>) -> String {
        let initial = setting.defaultValue(in: defaults).map { "`\($0)`" } ?? setting.unset ?? ""
        let known = setting.knownNames.isEmpty ? "" : " (\(setting.knownNames.joined(separator: ", ")))"
        let columns = [
            "`\(setting.key)`", initial, setting.isSecret ? "secret" : setting.allowed, setting.help + known,
        ]
        return "| " + columns.map(Self.escaped).joined(separator: " | ") + " |\n"
    }

    private static func escaped(_ text: String) -> String {
        text.split(separator: "|", omittingEmptySubsequences: false).joined(separator: "\\|")
    }
}
