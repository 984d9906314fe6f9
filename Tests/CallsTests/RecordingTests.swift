import Foundation
import Pipeline
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct RecordingTests {
    @Test func callerLeftAIRight() async throws {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".wav"
        nonisolated(unsafe) let recording = try Recording(path: path)  // used by this test alone
        var left = EncodedFrame()
        var right = EncodedFrame()
        for index in left.bytes.indices {
            left.bytes[index] = MuLaw.encode(1_000)
            right.bytes[index] = MuLaw.encode(-2_000)
        }
        recording.caller(left, now: 120)
        recording.ai(right, startMs: 200)
        await withCheckedContinuation { continuation in recording.finish(now: 300) { continuation.resume() } }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(data.count == 44 + 300 * 8 * 4)
        func sample(_ ms: Int, right: Bool) -> Int16 {
            let at = 44 + ms * 8 * 4 + (right ? 2 : 0)
            return Int16(bitPattern: UInt16(data[at]) | UInt16(data[at + 1]) << 8)
        }
        #expect(sample(110, right: false) > 900 && sample(110, right: true) == 0)
        #expect(sample(210, right: true) < -1_900 && sample(230, right: true) == 0 && sample(90, right: false) == 0)
        try FileManager.default.removeItem(atPath: path)
    }

    /// The caller's clock is 1 % off, so that 40 s do what an hour and 100 parts in a million do: what was said at a
    /// second stands there.
    @Test(arguments: [-1, 1]) func aClockThatDiffersMovesNothing(percent: Int) async throws {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".wav"
        nonisolated(unsafe) let recording = try Recording(path: path)  // used by this test alone
        var loud = EncodedFrame(), spoken: [Int] = []
        for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(8_000) }
        var now = 20.0, frames = 0
        while now < 40_000 {
            // A click of 20 ms every two seconds of the caller's.
            if frames % 100 == 50 { spoken.append(Int(now) - 20) }
            recording.caller(frames % 100 == 50 ? loud : EncodedFrame(), now: Int(now))
            if frames % 50 == 0 { recording.flush(now: Int(now)) }
            frames += 1
            now += 20 * (1 - Double(percent) / 100)
        }
        await withCheckedContinuation { continuation in recording.finish(now: 40_000) { continuation.resume() } }
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(data.count == 44 + 40_000 * 8 * 4)
        var heard: [Int] = [], last = -1_000
        for ms in 0..<40_000 where data[44 + ms * 32] != 0 || data[45 + ms * 32] != 0 {
            if ms - last > 100 { heard.append(ms) }
            last = ms
        }
        #expect(
            heard.count == spoken.count && zip(heard, spoken).allSatisfy { abs($0 - $1) <= Recording.realignMs + 20 })
        try FileManager.default.removeItem(atPath: path)
    }
}
