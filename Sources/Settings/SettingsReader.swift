internal import Foundation

/// Reads settings from the command line, the environment, `.env` and a file, in this order of precedence, checks them
/// and remembers where each value came from.
public struct SettingsReader<Root>: Sendable {
    public let settings: [Setting<Root>]

    public init(_ settings: [Setting<Root>]) { self.settings = settings }

    /// Where a value was found.
    public struct Found: Sendable, Equatable {
        /// As it was written; empty for secrets.
        public var text: String
        /// `config.yaml:5`, `.env:3`, `environment` or `--http.port`.
        public var place: String
    }

    /// A value on its way into a setting.
    struct Assignment {
        var setting: Setting<Root>
        var text: String
        var place: String
        /// The name by which it was given; nil: the place tells it.
        var name: String?
    }

    /// What one source gives, and what is wrong with it.
    struct Given {
        var assignments: [Assignment] = []
        var problems: [String] = []

        static func += (given: inout Given, other: Given) {
            given.assignments += other.assignments
            given.problems += other.problems
        }
    }

    /// - Parameters:
    ///   - file: path of the configuration file; nil: that of `TRUNKLINE_CONFIG`, or none.
    ///   - flags: key and value of command-line options.
    ///   - folder: holds `.env`.
    /// - Returns: the values that were given, by key.
    /// - Throws: every problem at once.
    public func read(
        into root: inout Root, file: String?, flags: [(String, String)], environment: [String: String],
        folder: String = "."
    ) throws(ConfigurationError) -> [String: Found] {
        let variables = Variables(environment, folder: folder)
        var given = Given(problems: variables.problems)
        if let path = file ?? variables.values[SettingNames.file]?.text { given += Self.file(path, settings) }
        given += fromEnvironment(variables)
        given += fromFlags(flags)
        var found: [String: Found] = [:]
        for assignment in given.assignments {
            let setting = assignment.setting
            do throws(ConfigurationError) { try setting.apply(assignment.text, to: &root) } catch {
                given.problems.append("\(assignment.place): \(assignment.name.map { $0 + " " } ?? "")\(error)")
            }
            found[setting.key] = Found(text: setting.isSecret ? "" : assignment.text, place: assignment.place)
        }
        if let error = ConfigurationError(given.problems) { throw error }
        return found
    }

    private func fromFlags(_ flags: [(String, String)]) -> Given {
        var given = Given()
        for (key, value) in flags {
            if let setting = settings.first(where: { $0.key == key }) {
                given.assignments.append(Assignment(setting: setting, text: value, place: "--\(key)"))
            } else {
                given.problems.append("--\(key) is not a setting")
            }
        }
        return given
    }

    /// `TRUNKLINE_TOOLS_SECRETS_CRM` is `crm` of the group `tools.secrets`; nil: there is no such group.
    private func member(ofVariable name: String) -> Setting<Root>? {
        for setting in settings where setting.member != nil {
            guard let end = setting.environmentName.lastIndex(of: "_") else { continue }
            let prefix = setting.environmentName[...end]
            if name.hasPrefix(prefix) { return setting.member?(name.dropFirst(prefix.count).lowercased()) }
        }
        return nil
    }

    /// By our own names, else by the names known elsewhere where they are not empty.
    private func fromEnvironment(_ variables: Variables) -> Given {
        var known: Set<String> = [SettingNames.file]
        var given = Given()
        for setting in settings {
            let own = setting.environmentName
            known.insert(own)
            let name =
                variables.values[own] != nil
                ? own : setting.knownNames.first { variables.values[$0]?.text.isEmpty == false }
            guard let name, let value = variables.values[name] else { continue }
            given.assignments.append(Assignment(setting: setting, text: value.text, place: value.place, name: name))
        }
        for name in variables.values.keys.sorted() where name.hasPrefix(SettingNames.prefix) && !known.contains(name) {
            if let setting = member(ofVariable: name), let value = variables.values[name] {
                given.assignments.append(Assignment(setting: setting, text: value.text, place: value.place, name: name))
                continue
            }
            let place = variables.values[name]?.place ?? ""
            given.problems.append("\(place): \(name) is not a setting\(nearest(to: name, among: known))")
        }
        return given
    }
}

/// The environment, and what `.env` adds to it.
struct Variables {
    /// Bytes of a `.env` that are read; a larger one is none.
    private static let sizeLimit = 1 << 20

    var values: [String: (text: String, place: String)]
    var problems: [String] = []

    init(_ environment: [String: String], folder: String) {
        values = environment.mapValues { ($0, "environment") }
        guard let data = FileManager.default.contents(atPath: folder + "/.env"), data.count <= Self.sizeLimit else {
            return
        }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard let equals = text.firstIndex(of: "=") else {
                problems.append(".env:\(index + 1): expected NAME=value")
                continue
            }
            let name = String(text[..<equals]).trimmingCharacters(in: .whitespaces)
            guard values[name] == nil else { continue }
            values[name] = (Self.unquoted(text[text.index(after: equals)...]), ".env:\(index + 1)")
        }
    }

    private static func unquoted(_ text: Substring) -> String {
        let value = text.trimmingCharacters(in: .whitespaces)
        guard value.count >= 2, let quote = value.first, quote == "\"" || quote == "'", value.last == quote else {
            return value
        }
        return String(value.dropFirst().dropLast())
    }
}

/// ", did you mean …?" for a name that is a few letters off.
func nearest(to name: String, among names: some Collection<String>) -> String {
    let best = names.map { (name: $0, distance: distance(name, $0)) }
        .min { ($0.distance, $0.name) < ($1.distance, $1.name) }
    guard let best, best.distance <= 3 else { return "" }
    return ", did you mean \(best.name)?"
}

/// Letters to change, add or leave out (Levenshtein), of the first 80.
private func distance(_ a: String, _ b: String) -> Int {
    let a = Array(a.prefix(80)), b = Array(b.prefix(80))
    var row = Array(0...b.count)
    for i in a.indices {
        var previous = row[0]
        row[0] = i + 1
        for j in b.indices {
            let current = row[j + 1]
            row[j + 1] = a[i] == b[j] ? previous : min(previous, row[j], current) + 1
            previous = current
        }
    }
    return row[b.count]
}
