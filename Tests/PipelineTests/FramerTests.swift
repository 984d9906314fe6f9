import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct FramerTests {
    @Test func anyLengthsBecomeWholeFrames() throws {
        var frames: [AudioFrame] = []
        for count in [100, 300, 7, 153] {
            var frame = AudioFrame(sampleRate: 8_000, turn: 2)
            frame.fill { buffer in
                for index in 0..<count { buffer[index] = Int16(index) }
                return count
            }
            frames.append(frame)
        }
        let output = try StageHarness.run(Framer(sampleRate: 8_000), frames)
        #expect(output.map(\.count) == [160, 160, 160, 160])
        #expect(output.allSatisfy { $0.turn == 2 })
        #expect(output[0].samples[99] == 99 && output[0].samples[100] == 0)
        #expect(output[3].samples[79] == 152 && output[3].samples[80] == 0, "the rest is silence")
    }
}
