import Foundation
import Testing

@testable import API

@Suite struct ListCursorTests {
    @Test func aCursorIsOfItsList() {
        for list in ListCursor.allCases {
            for position in [1, 35, 36, 1_000_000, Int64.max] {
                let text = list.text(position)
                #expect(text.utf8.count <= ListCursor.lengthLimit)
                for other in ListCursor.allCases {
                    #expect(other.position(text) == (other == list ? position : nil), "\(text)")
                }
            }
        }
    }

    @Test func whatNobodyGaveIsNone() {
        let good = ListCursor.audit.text(12_345)
        for text in [
            "", "-", "aud-", "aud-1", "aud-00", "12345", good.uppercased(), good + "0", String(good.dropLast()),
            " " + good, good + "\n", "aud--1" + good.suffix(2),
        ] {
            #expect(ListCursor.audit.position(text) == nil, "\(text)")
        }
        // Of neighbours, whose check is another.
        let body = good.dropLast(2)
        let accepted = (0..<1_296).filter { number in
            let check = String(number, radix: 36)
            return ListCursor.audit.position(body + (check.count < 2 ? "0" : "") + check) != nil
        }
        #expect(accepted.count == 1)
    }
}

@Suite struct QueryReaderTests {
    private let known = [
        Field("a", .text(64), ""), Field("q", .text(5), ""), Field("n", .integer(1...9), default: 4, ""),
    ]
    private func fields(_ query: [(name: String, value: String)]) -> [String] {
        QueryReader(query, known).errors.map(\.field)
    }

    @Test func everyBadParameterIsNamed() {
        #expect(fields([("a", "1"), ("q", "12345")]) == [])
        #expect(fields([("a", "1"), ("a", "1"), ("x", ""), ("q", "123456")]) == ["a", "x", "q"])
        #expect(
            fields([("a", String(repeating: "x", count: 65))]) == ["a"] && fields([("q", "a\nb")]) == ["q"]
                && fields([("q", "\u{202E}")]) == ["q"])
    }

    @Test(arguments: ["", "0", "201", "+5", "-1", "1e2", "1.0", "５", " 5", "99999999999999999999"])
    func badLimits(text: String) {
        let query = QueryReader([("limit", text)], ListQuery.numbers)
        #expect(query.integer("limit") == nil && query.errors.map(\.field) == ["limit"])
    }

    @Test func valuesAreTypedAndDefaultsFilledIn() {
        let query = QueryReader([("a", "x"), ("n", "7")], known)
        #expect(query.text("a") == "x" && query.integer("n") == 7 && query.text("q") == nil)
        #expect(QueryReader([], known).integer("n") == 4 && QueryReader([], ListQuery.calls).integer("limit") == 50)
        #expect(QueryReader([("from", "2026-11-21T09:30:00 09:00")], ListQuery.calls).time("from") != nil)
    }
}

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

    @Test func whatHidesTheOrderOfLettersIsRefusedAndWhatLanguagesNeedIsNot() {
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
