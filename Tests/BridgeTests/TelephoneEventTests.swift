import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct TelephoneEventTests {
    @Test func everyPacketOfADigitReportsItOnce() throws {
        var receiver = TelephoneEvent.Receiver()
        let payloads = try #require(TelephoneEvent.payloads(for: "5"))
        let digits = payloads.compactMap { payload in payload.withUnsafeBytes { receiver.receive($0, timestamp: 1_000) }
        }
        #expect(digits == ["5"])
        #expect(payloads.suffix(3).allSatisfy { $0[1] & 0x80 != 0 }, "the end is sent three times")
    }
    @Test func lostFirstPacketsDoNotLoseTheDigit() throws {
        var receiver = TelephoneEvent.Receiver()
        let payloads = try #require(TelephoneEvent.payloads(for: "#"))
        #expect(
            payloads.suffix(1).compactMap { payload in payload.withUnsafeBytes { receiver.receive($0, timestamp: 7) } }
                == ["#"])
    }
    @Test func nonsenseIsIgnored() {
        var receiver = TelephoneEvent.Receiver()
        let digits = [[], [1, 2], [16, 0, 0, 0], [255, 0, 0, 0]].compactMap { (bytes: [UInt8]) in
            bytes.withUnsafeBytes { receiver.receive($0, timestamp: 1) }
        }
        #expect(digits.isEmpty)
        #expect(TelephoneEvent.payloads(for: "x") == nil)
    }
}
