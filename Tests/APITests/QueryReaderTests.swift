import Foundation
import JSON
import Testing

@testable import API

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
