import Foundation
import Testing

@testable import JSON

@Suite struct JSONValueTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    @Test func valuesSurvive() throws {
        let text = #"{"a":[1,-2.5,1000,true,null,"x\"\\\u0001é"],"b":{}}"#
        #expect(try parse(text).text == text)
        #expect(try parse(#""\ud83d\ude00""#) == .string("😀"))
    }
    @Test(arguments: [
        "", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1.", "-", "nul", "\"\\x\"", "\"\u{1}\"", "1 2",
        "{'a':1}", "\"\\ud800\"",
        String(repeating: "[", count: 100), "\"abc", "\"\\u+123\"", "\"\\u-123\"",
    ])
    func nonsenseIsAnError(text: String) { #expect(throws: JSONValue.ParseError.self) { _ = try parse(text) } }
    @Test func badUTF8IsAnError() {
        #expect(throws: JSONValue.ParseError.self) { _ = try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
    }
}
