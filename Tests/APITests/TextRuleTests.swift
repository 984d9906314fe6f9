import Foundation
import Testing

@testable import Problems

@Suite struct TextRuleTests {
    /// Of all of Unicode's control characters (category Cc) two are let into running text, and none into a line.
    @Test func controlCharactersOfUnicode() {
        let controls = (0...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init).filter {
            $0.properties.generalCategory == .control
        }
        #expect(controls.count == 65)
        #expect(controls.allSatisfy { TextRule.line.problem(with: "a\($0)b") != nil })
        #expect(controls.filter { TextRule.paragraph.problem(with: "a\($0)b") == nil } == ["\t", "\n"])
        #expect(controls.filter { TextRule.document.problem(with: "a\($0)b") != nil } == ["\u{0}"])
        // Carriage return and line feed are one character of a String.
        #expect(TextRule.paragraph.problem(with: "a\r\nb") != nil && TextRule.document.problem(with: "a\r\nb") == nil)
    }

    @Test func bidirectionalControlsAreRejectedAndJoinersAreAccepted() {
        for scalar in [
            "\u{202A}", "\u{202B}", "\u{202C}", "\u{202D}", "\u{202E}", "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}",
            "\u{2028}", "\u{2029}",
        ] {
            #expect(TextRule.line.problem(with: "a" + scalar) != nil && TextRule.paragraph.problem(with: scalar) != nil)
        }
        for text in [
            "김민지", "Иван", "محمد\u{200F}", "क्\u{200D}ष", "👩\u{200D}👩\u{200D}👧", "O'Neill", "a\u{A0}b", "e\u{301}",
        ] {
            #expect(TextRule.line.problem(with: text) == nil, "\(text)")
        }
    }
}
