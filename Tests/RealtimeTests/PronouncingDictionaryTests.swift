import Foundation
import Testing

@testable import Realtime

@Suite struct PronouncingDictionaryTests {
    private static func dictionary(_ text: String) throws -> PronouncingDictionary {
        let path = NSTemporaryDirectory() + "trunkline-dictionary-\(UInt64.random(in: .min ... .max))"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try PronouncingDictionary(path: path)
    }

    @Test func wordsWithSeveralPronunciations() throws {
        let dictionary = try Self.dictionary("a AH\na(2) EY\na's EY Z\nyes Y EH S\nparis P AE R IH S\n")
        #expect(dictionary.pronunciations(of: "a") == ["AH", "EY"])
        #expect(dictionary.pronunciations(of: "a's") == ["EY Z"])
        #expect(dictionary.pronunciations(of: "yes") == ["Y EH S"])
        #expect(dictionary.pronunciations(of: "ye").isEmpty && dictionary.pronunciations(of: "a(2)").isEmpty)
        #expect(dictionary.lines(for: ["yes", "a", "yes", "unknown"]) == "a AH\na(2) EY\nyes Y EH S\n")
    }

    @Test func linesThatAreNone() throws {
        let dictionary = try Self.dictionary("\n\nword\n) P\n(2) P\nlast L AE S T")
        #expect(dictionary.pronunciations(of: "last") == ["L AE S T"])
        #expect(dictionary.pronunciations(of: "word").isEmpty && dictionary.pronunciations(of: ")") == ["P"])
        #expect(try Self.dictionary("").pronunciations(of: "a").isEmpty)
    }

    @Test func aMissingFileIsNamed() {
        #expect(throws: SpeechError.self) { try PronouncingDictionary(path: "/nowhere/cmudict.dict") }
    }

    /// Every line of the installed dictionary is found as a reading of the whole file finds it.
    @Test func theInstalledDictionary() throws {
        let path = AcousticModel.defaultFolder + "/cmudict-en-us.dict"
        let dictionary = try PronouncingDictionary(path: path)
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count > 100_000)
        for line in lines.enumerated().filter({ $0.offset % 97 == 0 }).map(\.element) {
            let parts = line.split(separator: " ", maxSplits: 1)
            let word = parts[0].split(separator: "(")[0]
            #expect(dictionary.pronunciations(of: String(word)).contains(String(parts[1])))
        }
    }
}
