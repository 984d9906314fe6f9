import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct RTPPacketTests {
    private func parse(_ bytes: [UInt8]) -> RTPPacket? { bytes.withUnsafeBytes { RTPPacket(parsing: $0) } }
    private let header: [UInt8] = [0x80, 0x00, 0x12, 0x34, 0, 0, 0, 160, 0, 0, 0, 1]

    @Test func headerAndPayload() throws {
        let packet = try #require(parse(header + [1, 2, 3]))
        #expect(packet.sequence == 0x1234 && packet.timestamp == 160 && packet.ssrc == 1 && packet.payload == 12..<15)
    }
    @Test func extensionContributorsAndPaddingAreSkipped() throws {
        var bytes = header
        bytes[0] = 0x80 | 0x20 | 0x10 | 1
        bytes += [9, 9, 9, 9] + [0xBE, 0xDE, 0, 1, 5, 5, 5, 5] + [7, 7] + [0, 2]
        #expect(try #require(parse(bytes)).payload == 24..<26)
    }
    @Test(
        arguments: [
            [], [0x80], [0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0x9F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0xA0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200],
            [0x80, 72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func malformedPacketsAreRefused(bytes: [UInt8]) { #expect(parse(bytes) == nil) }

    @Test func randomBytesNeverTrap() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            if let packet = parse(bytes) { #expect(packet.payload.upperBound <= bytes.count) }
        }
    }
}
