internal import Foundation
internal import Yams

extension SettingsReader {
    /// Values of a configuration file in YAML. A root `ai_voicebot:` is as if it were not there.
    static func file(_ path: String, _ settings: [Setting<Root>]) -> Given {
        guard let data = FileManager.default.contents(atPath: path) else {
            return Given(problems: ["cannot read the configuration \(path)"])
        }
        guard data.count <= 1 << 20 else { return Given(problems: ["\(path) is larger than 1 MiB"]) }
        let root: Node?
        do { root = try Yams.compose(yaml: String(decoding: data, as: UTF8.self)) } catch {
            return Given(problems: ["\(path): \(error)"])
        }
        guard var node = root else { return Given() }
        if case .mapping(let mapping) = node, mapping.count == 1, let inner = mapping["ai_voicebot"] { node = inner }
        var reading = FileReading(path: path, settings: settings)
        reading.read(node, prefix: "")
        return reading.given
    }

    /// Walks the file.
    private struct FileReading {
        let path: String
        let settings: [Setting<Root>]
        var given = Given()

        mutating func read(_ node: Node, prefix: String) {
            guard case .mapping(let mapping) = node else {
                return fail(node, "\(prefix.isEmpty ? "the file" : prefix) must be a mapping")
            }
            for (name, value) in mapping {
                guard let name = name.string else {
                    fail(name, "a key must be text")
                    continue
                }
                let key = prefix.isEmpty ? name : prefix + "." + name
                if let setting = settings.lazy.compactMap({ $0.member(key: key) }).first
                    ?? settings.first(where: { $0.key == key })
                {
                    assign(value, to: setting)
                } else if settings.contains(where: { $0.key.hasPrefix(key + ".") }) {
                    if case .scalar(let scalar) = value, scalar.string.isEmpty { continue }
                    read(value, prefix: key)
                } else {
                    fail(value, "\(key) is not a setting\(nearest(to: key, among: settings.map(\.key)))")
                }
            }
        }

        private mutating func assign(_ value: Node, to setting: Setting<Root>) {
            do throws(ConfigurationError) {
                let written = try text(of: value)
                given.assignments.append(
                    Assignment(
                        setting: setting, text: setting.isSecret ? try secret(written, setting) : written,
                        place: place(value), name: setting.key))
            } catch { fail(value, "\(setting.key) \(error)") }
        }

        private func text(of value: Node) throws(ConfigurationError) -> String {
            switch value {
            case .scalar(let scalar): return scalar.string
            case .sequence(let items): return items.compactMap(\.string).joined(separator: ",")
            default: throw ConfigurationError("must be a single value")
            }
        }

        /// A secret in the file is a reference, `file:/path`; never the secret itself.
        private func secret(_ text: String, _ setting: Setting<Root>) throws(ConfigurationError) -> String {
            guard text.hasPrefix("file:") else {
                throw ConfigurationError(
                    "is a secret: set \(setting.environmentName), or write file:/path/of/the/secret")
            }
            let path = String(text.dropFirst(5))
            guard let data = FileManager.default.contents(atPath: path) else {
                throw ConfigurationError("cannot read \(path)")
            }
            return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private func place(_ node: Node) -> String { "\(path):\(node.mark?.line ?? 0)" }

        private mutating func fail(_ node: Node, _ message: String) {
            given.problems.append("\(place(node)): \(message)")
        }
    }
}
