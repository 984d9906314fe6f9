import Foundation
import Settings
import Testing

@testable import trunkline

@Suite struct DeclarationTests {
    private let keys = Configuration.keys
    private let defaults = Configuration()

    @Test func keysAndVariablesAreUnique() {
        #expect(Set(keys.map(\.key)).count == keys.count)
        let names = keys.flatMap { [$0.environmentName] + $0.knownNames }
        #expect(Set(names).count == names.count)
        for key in keys {
            #expect(!keys.contains { $0.key.hasPrefix(key.key + ".") }, "\(key.key) is a group of keys as well")
        }
    }

    @Test func everySettingSaysWhatItIs() {
        for key in keys {
            #expect(!key.help.isEmpty && !key.allowed.isEmpty, "\(key.key)")
            let isRepeated = key.defaultValue(in: defaults).map { key.help.contains("(\($0))") } ?? false
            #expect(!isRepeated, "\(key.key) tells its default by hand")
            #expect(
                key.defaultValue(in: defaults) != nil || key.unset?.isEmpty == false,
                "\(key.key) says nothing about its default")
        }
    }

    @Test func defaultsAreWithinTheirBounds() throws {
        for key in keys {
            guard let value = key.value(in: defaults) else { continue }
            var changed = defaults
            #expect(throws: Never.self, "\(key.key)") { try key.apply(value, to: &changed) }
            #expect(key.value(in: changed) == value, "\(key.key)")
        }
    }

    /// A secret that is wrong does not appear in the message about it.
    @Test func problemsKeepSecrets() {
        for key in keys where key.isSecret {
            var changed = defaults
            let words = "hush-hush"
            do throws(ConfigurationError) { try key.apply(words, to: &changed) } catch {
                #expect(!error.description.contains(words), "\(key.key)")
            }
            #expect(key.value(in: changed) == nil, "\(key.key)")
        }
    }

    /// What `trunkline config env` and `trunkline config table` print is what is committed.
    @Test func printedFilesAreUpToDate() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let printer = SettingsPrinter(keys, defaults: defaults)
        let env = try String(contentsOf: root.appendingPathComponent(".env.example"), encoding: .utf8)
        #expect(env == printer.environmentFile, "run make settings")
        let page = try String(contentsOf: root.appendingPathComponent("docs/configuration.md"), encoding: .utf8)
        #expect(page.hasSuffix("\n" + printer.table), "run make settings")
    }
}
