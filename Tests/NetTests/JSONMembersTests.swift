import Foundation
import Testing

@testable import Net

@Suite struct JSONMembersTests {
    private func members(_ text: String) -> [String: String]? {
        var result: [String: String] = [:]
        let isObject = Array(text.utf8).withUnsafeBufferPointer { bytes in
            JSONMembers.forEach(in: bytes) { key, value in
                result[String(decoding: key, as: UTF8.self)] =
                    JSONMembers.text(value, in: bytes) ?? String(decoding: bytes[value.range], as: UTF8.self)
            }
        }
        return isObject ? result : nil
    }

    @Test(arguments: [
        (#"{}"#, [:]),
        (#" { "a" : "x" , "b":1.5e3,"c":null } "#, ["a": "x", "b": "1.5e3", "c": "null"]),
        (#"{"a":{"b":"}","c":[1,{"d":"\""}]},"e":"f"}"#, ["a": #"{"b":"}","c":[1,{"d":"\""}]}"#, "e": "f"]),
        (#"{"a":"one\ntwo \u00e9 \\"}"#, ["a": "one\ntwo é \\"]),
    ])
    func finds(text: String, expected: [String: String]) { #expect(members(text) == expected) }

    @Test(arguments: [
        "", "[]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":\"x}", "{\"a\":{\"b\":1}", "{}x", "{\"a\" 1}",
        "{\"a\":\"\\\"}",
    ])
    func refuses(text: String) { #expect(members(text) == nil) }

    @Test func randomBytesNeverTrap() {
        let valid = Array(#"{"type":"x","delta":"AAAA","n":{"a":[1,"\""]}}"#.utf8)
        for _ in 0..<20_000 {
            var bytes = valid
            for _ in 0..<Int.random(in: 1...4) {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes.removeLast(Int.random(in: 0...3))
            _ = members(String(decoding: bytes, as: UTF8.self))
        }
    }
}
