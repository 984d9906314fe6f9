import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct JitterBufferTests {
    /// `5@0`: sequence 5 at 0 ms. Output: sequences in order, `x` for a loss; polled at the end.
    private func run(_ script: [(UInt16, UInt64)], pollAt: UInt64? = nil) -> String {
        var buffer = JitterBuffer()
        var output: [JitterBuffer.Output] = []
        for (sequence, now) in script {
            buffer.poll(now: now, into: &output)
            let payload = withUnsafeBytes(of: UInt8(truncatingIfNeeded: sequence)) { JitterBuffer.Payload($0) }
            buffer.insert(sequence: sequence, payload: payload, now: now, into: &output)
        }
        if let pollAt { buffer.poll(now: pollAt, into: &output) }
        return output.map { if case .packet(let payload) = $0 { payload.withBytes { String($0[0]) } } else { "x" } }
            .joined(separator: " ")
    }
    @Test func packetsInOrderLeaveAtOnce() { #expect(run([(1, 0), (2, 20), (3, 40)]) == "1 2 3") }
    @Test func swappedPacketsAreSorted() { #expect(run([(1, 0), (3, 20), (2, 30), (4, 60)]) == "1 2 3 4") }
    @Test func aGapIsWaitedForThenConcealed() {
        #expect(run([(1, 0), (3, 20)]) == "1")
        #expect(run([(1, 0), (3, 20)], pollAt: 59) == "1")
        #expect(run([(1, 0), (3, 20)], pollAt: 60) == "1 x 3")
    }
    @Test func lateAndDoubledPacketsAreDropped() {
        #expect(run([(1, 0), (2, 20), (2, 21), (1, 22), (4, 40), (4, 41), (3, 45)]) == "1 2 3 4")
    }
    @Test func sequenceNumbersWrap() { #expect(run([(65_535, 0), (0, 20), (1, 40)]) == "255 0 1") }
    @Test func aRestartIsFollowed() {
        #expect(run([(100, 0), (101, 20), (30_000, 40), (30_001, 60)]) == "100 101 48 49")
    }
    @Test func aLongGapIsNotFilledForEver() {
        let output = run([(1, 0), (200, 4_000)], pollAt: 4_200)
        #expect(output.split(separator: " ").count { $0 == "x" } == JitterBuffer.concealLimit)
    }
}
