import Foundation
import Testing

@testable import Net

@Suite struct Base64Tests {
    @Test func everyLengthAsFoundationDoesIt() {
        for count in 0...200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            let expected = Data(bytes).base64EncodedString()
            var text = [UInt8](repeating: 0, count: 3 + Base64.encodedLength(count))
            let end = text.withUnsafeMutableBufferPointer { target in
                bytes.withUnsafeBufferPointer { Base64.encode($0.span, into: target, at: 3) }
            }
            #expect(end == text.count && String(decoding: text[3...], as: UTF8.self) == expected)
            var decoded = [UInt8](repeating: 0, count: count + 3)
            let length = decoded.withUnsafeMutableBufferPointer { target in
                Array(expected.utf8).withUnsafeBufferPointer { Base64.decode($0, into: target) }
            }
            #expect(length == count && Array(decoded[..<count]) == bytes)
        }
    }
    @Test(arguments: ["A", "AB", "ABC", "ABCDE", "A===", "AB=C", "=AAA", "AA A", "AAA\u{e9}", "AAAA====", "AA==AAAA"])
    func malformedBase64IsRejected(text: String) {
        var target = [UInt8](repeating: 0, count: 64)
        let length = target.withUnsafeMutableBufferPointer { target in
            Array(text.utf8).withUnsafeBufferPointer { Base64.decode($0, into: target) }
        }
        #expect(length == nil)
    }
    @Test func aTargetThatIsTooSmallIsRejected() {
        var target = [UInt8](repeating: 0, count: 2)
        let length = target.withUnsafeMutableBufferPointer { target in
            Array("AAAA".utf8).withUnsafeBufferPointer { Base64.decode($0, into: target) }
        }
        #expect(length == nil)
    }
}
