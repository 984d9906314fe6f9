import Foundation
import Testing

@testable import API

@Suite struct QueryReaderTests {
    private let known = [
        OpenAPI.Parameter(name: "a", schema: .null, summary: ""),
        OpenAPI.Parameter(name: "q", schema: .null, summary: "", limit: 5),
    ]
    private func fields(_ query: [(name: String, value: String)]) -> [String] {
        QueryReader(query, known: known).errors.map(\.field)
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
        var query = QueryReader([("limit", text)], known: OpenAPI.numberQuery)
        #expect(query.limit() == 50 && query.errors.map(\.field) == ["limit"])
    }
}
