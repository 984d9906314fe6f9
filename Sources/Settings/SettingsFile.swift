internal import Foundation
internal import Yams

extension SettingsReader {
    /// Values of a configuration file in YAML. A root `ai_voicebot:` is as if it were not there.
    static func file(_ path: String, _ settings: [Setting<Root>]) throws(ConfigurationError) -> [Assignment] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("cannot read the configuration \(path)")
        }
        guard data.count <= 1 << 20 else { throw ConfigurationError("\(path) is larger than 1 MiB") }
        let root: Node?
        do { root = try Yams.compose(yaml: String(decoding: data, as: UTF8.self)) } catch {
            throw ConfigurationError("\(path): \(error)")
        }
        guard var node = root else { return [] }
        if case .mapping(let mapping) = node, mapping.count == 1, let inner = mapping["ai_voicebot"] { node = inner }
        var reading = FileReading(path: path, settings: settings)
        try reading.read(node, prefix: "")
        return reading.assignments
    }

    /// Walks the file.
    private struct FileReading {
        let path: String
        let settings: [Setting<Root>]
        var assignments: [Assignment] = []

        mutating func read(_ node: Node, prefix: String) throws(ConfigurationError) {
            guard case .mapping(let mapping) = node else {
                throw problem(node, "\(prefix.isEmpty ? "the file" : prefix) must be a mapping")
            }
            for (name, value) in mapping {
                guard let name = name.string else { throw problem(node, "a key must be text") }
                let key = prefix.isEmpty ? name : prefix + "." + name
                if let setting = settings.first(where: { $0.key == key }) {
                    assignments.append(
                        Assignment(setting: setting, text: try text(of: value, setting), place: place(value), name: key)
                    )
                } else if settings.contains(where: { $0.key.hasPrefix(key + ".") }) {
                    if case .scalar(let scalar) = value, scalar.string.isEmpty { continue }
                    try read(value, prefix: key)
                } else {
                    throw problem(value, "\(key) is not a setting\(nearest(to: key, among: settings.map(\.key)))")
                }
            }
        }

        private func text(of value: Node, _ setting: Setting<Root>) throws(ConfigurationError) -> String {
            let text: String
            switch value {
            case .scalar(let scalar): text = scalar.string
            case .sequence(let items): text = items.compactMap(\.string).joined(separator: ",")
            default: throw problem(value, "\(setting.key) must be a single value")
            }
            return setting.isSecret ? try secret(text, value, setting) : text
        }

        /// A secret in the file is a reference, `file:/path`; never the secret itself.
        private func secret(_ text: String, _ value: Node, _ setting: Setting<Root>) throws(ConfigurationError)
            -> String
        {
            guard text.hasPrefix("file:") else {
                throw problem(
                    value,
                    "\(setting.key) is a secret: set \(setting.environmentName), or write file:/path/of/the/secret")
            }
            let path = String(text.dropFirst(5))
            guard let data = FileManager.default.contents(atPath: path) else {
                throw problem(value, "\(setting.key) cannot read \(path)")
            }
            return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        private func place(_ node: Node) -> String { "\(path):\(node.mark?.line ?? 0)" }

        private func problem(_ node: Node, _ message: String) -> ConfigurationError {
            ConfigurationError("\(place(node)): \(message)")
        }
    }
}
