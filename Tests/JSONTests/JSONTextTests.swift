import Foundation
import Testing

@testable import JSON

@Suite struct JSONTextTests {
    @Test func writtenTextParsesEverywhere() throws {
        let scalars =
            (0..<0x250).compactMap { Unicode.Scalar($0 as Int) } + [
                "\u{2027}", "\u{2028}", "\u{2029}", "\u{A8}", "\u{1F600}", "한", "я",
            ]
        let text = String(String.UnicodeScalarView(scalars))
        let written = JSONValue.object([
            text: .array([.string(text), .number(-1.5), .number(1e300), .null, .bool(true), .object([:])])
        ]).bytes
        let read = try #require(try JSONSerialization.jsonObject(with: Data(written)) as? [String: [Any]])
        #expect(read.keys.first == text && read[text]?.first as? String == text)
        #expect(!written.contains { $0 < 0x20 } && !String(decoding: written, as: UTF8.self).contains("\u{2028}"))
        #expect(
            try JSONValue(parsing: written)
                == .object([
                    text: .array([.string(text), .number(-1.5), .number(1e300), .null, .bool(true), .object([:])])
                ]))
    }
}
