import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct PlayoutTests {
    @Test func marksAreReportedAfterTheFramesBeforeThem() {
        var playout = Playout()
        var reached: [String] = []
        playout.append(EncodedFrame(turn: 1))
        playout.append(mark: "a")
        playout.append(EncodedFrame(turn: 2))
        let first = playout.next(reached: &reached)
        #expect(first?.turn == 1 && reached == [])
        let second = playout.next(reached: &reached)
        #expect(second?.turn == 2 && reached == ["a"])
        let third = playout.next(reached: &reached)
        #expect(third == nil)
    }
    @Test func clearReturnsTheMarks() {
        var playout = Playout()
        playout.append(EncodedFrame())
        playout.append(mark: "a")
        let marks = playout.clear()
        #expect(marks == ["a"] && playout.frames == 0)
    }
    @Test func theQueueIsBounded() {
        var playout = Playout()
        for _ in 0...Playout.capacity { playout.append(EncodedFrame()) }
        #expect(playout.frames == Playout.capacity && playout.refused == 1)
    }
}
