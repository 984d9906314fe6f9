import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct RTCPTests {
    /// Ticks that are made up for are dated when they were due: a report may have come after that, and must not end the
    /// process.
    @Test func aReportFromTheFutureIsNoMatter() {
        var reception = Reception(), ours = RTCP(), theirs = RTCP()
        reception.received(ssrc: 5, sequence: 1, timestamp: 0, now: 10_000)
        let report = theirs.packet(ssrc: 5, timestamp: 0, packets: 1, octets: 160, reception: &reception, now: 10_000)
        let isReport = report.withUnsafeBytes { ours.receive($0, ours: 9, now: 10_000) }
        let answer = ours.packet(ssrc: 9, timestamp: 0, packets: 1, octets: 160, reception: &reception, now: 9_900)
        // Delay since the last report, the last word of the block (§6.4.1).
        #expect(isReport && Array(answer[48..<52]) == [0, 0, 0, 0])
    }

    @Test func reportsTellOfLossJitterAndRoundTrip() throws {
        var reception = Reception(), ours = RTCP(), theirs = RTCP()
        // Of 100 packets every tenth is missing; every other one comes 10 ms late.
        for index in 0..<100 where index % 10 != 9 {
            reception.received(
                ssrc: 5, sequence: UInt16(truncatingIfNeeded: 65_500 + index), timestamp: UInt32(index * 160),
                now: UInt64(1_000 + index * 20 + (index % 2) * 10))
        }
        #expect((5...11).contains(reception.jitterMs))
        var none = Reception()
        // They report, we answer 40 ms later, that answer takes 60 ms.
        let first = theirs.packet(ssrc: 5, timestamp: 0, packets: 90, octets: 14_400, reception: &none, now: 10_000)
        _ = first.withUnsafeBytes { ours.receive($0, ours: 9, now: 10_060) }
        let second = ours.packet(
            ssrc: 9, timestamp: 0, packets: 100, octets: 16_000, reception: &reception, now: 10_100)
        _ = second.withUnsafeBytes { theirs.receive($0, ours: 5, now: 10_160) }
        let feedback = try #require(theirs.feedback)
        #expect(abs(feedback.lossFraction - 0.09) < 0.02 && abs((feedback.roundTripMs ?? 0) - 120) < 3, "\(feedback)")
        #expect(abs(feedback.jitterMs - reception.jitterMs) < 0.5 && ours.feedback == nil)
        // Damaged packets change nothing.
        for count in 0..<second.count {
            second[..<count].withUnsafeBytes { _ = theirs.receive($0, ours: 5, now: 10_200) }
        }
        for _ in 0..<2_000 {
            let noise = (0..<Int.random(in: 0...120)).map { _ in UInt8.random(in: 0...255) }
            _ = noise.withUnsafeBytes { theirs.receive($0, ours: 5, now: 10_200) }
        }
    }

    @Test func theScoreFallsWithLossAndDelay() {
        #expect(SpeechQuality.score(loss: 0, delayMs: 50) > 4.3 && SpeechQuality.score(loss: 0.05, delayMs: 100) >= 3.6)
        #expect(SpeechQuality.score(loss: 0.2, delayMs: 100) < 3 && SpeechQuality.score(loss: 0, delayMs: 500) < 3.2)
        #expect(SpeechQuality.score(loss: 1, delayMs: 10_000) == 1 && SpeechQuality.score(loss: -1, delayMs: 0) <= 4.5)
    }
}
