import Foundation
import Testing

@testable import Net

@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            ("bytes=0-4", ByteRange.part(0..<5)), ("bytes=5-", .part(5..<10)), ("bytes=-3", .part(7..<10)),
            ("bytes=0-99", .part(0..<10)),
            ("bytes=10-", .unsatisfiable), ("bytes=-0", .unsatisfiable), ("bytes=4-2", nil), ("bytes=a-b", nil),
            ("lines=1-2", nil),
            ("bytes=0-1,3-4", nil),
        ] as [(String, ByteRange?)])
    func parses(header: String, range: ByteRange?) { #expect(ByteRange(header, size: 10) == range) }
}
