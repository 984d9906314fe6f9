import Foundation
import Testing

@testable import Settings
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

    /// Most forms take one of these.
    private static let samples = [
        "1", "2", "100", "700", "5000", "true", "false", "none", "x", "https://a.example/v1", "wss://a.example/v1",
        "+8210", "0212345678", "09:00-18:00", "Asia/Seoul", "US", "ko", "EUR", "192.0.2.1", "a:b", "4000-5000",
        "openai,gemini", "openai", "silero", "warning", "json", "off", "e164", "busy", "retry", "blind", "SHA-256",
        "pcm", "manual", "realtime", "turns", "telephony/sip minute 0.012", "one.example", "twilio",
        "l16/16000", "CNbsyClOSrDQQZcmW8njiFeF5aCX/Zvf8HP+EXoVyKs=", "4b7ae78a-d02e-4889-a63b-08b156d5916e",
        "AC" + String(repeating: "0", count: 32), String(repeating: "ab", count: 32),
        "whsec_" + String(repeating: "A", count: 32), "MA" + String(repeating: "0", count: 18), "l16/16000", "advanced",
        "aaaaaaaa-bbbb-cccc-dddd-0123456789ab", "mulaw/8000", "l16/8000",
    ]

    /// Catches a key path copied from another setting.
    @Test func everySettingChangesItsPropertyAlone() {
        let before = keys.map { $0.text(defaults) }
        var unchanged: Set = Set(keys.map(\.key))
        for (index, key) in keys.enumerated() {
            for sample in Self.samples {
                var changed = defaults
                guard (try? key.apply(sample, to: &changed)) != nil else { continue }
                let differing = keys.indices.filter { keys[$0].text(changed) != before[$0] }
                #expect(Set(differing).isSubset(of: [index]), "\(key.key) changes \(differing.map { keys[$0].key })")
                if differing == [index] { unchanged.remove(key.key) }
            }
        }
        // A value that no sample sets, or that has no text, cannot be compared.
        #expect(unchanged.count < keys.count / 10, "\(unchanged)")
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
