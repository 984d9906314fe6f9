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
        #expect(playout.append(mark: "a") == nil)
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
        #expect(playout.append(mark: "a") == nil)
        let marks = playout.clear()
        #expect(marks == ["a"] && playout.frames == 0)
    }
    @Test func theQueueIsBounded() {
        var playout = Playout()
        for _ in 0...Playout.capacity { playout.append(EncodedFrame()) }
        #expect(playout.frames == Playout.capacity && playout.refused == 1)
    }
    @Test func theOldestOfTooManyMarksComesBackAtOnce() {
        var playout = Playout()
        var reached: [String] = []
        playout.append(EncodedFrame())
        for number in 0..<Playout.markLimit { #expect(playout.append(mark: "\(number)") == nil) }
        #expect(playout.append(mark: "a") == "0")
        #expect(playout.append(mark: "b") == "1")
        _ = playout.next(reached: &reached)
        _ = playout.next(reached: &reached)
        #expect(reached.count == Playout.markLimit && reached.first == "2" && reached.suffix(2) == ["a", "b"])
    }
    @Test func marksStayWhereTheyAreWhenFramesAreLeftOut() {
        var playout = Playout()
        var reached: [String] = []
        for number in 0..<6 {
            playout.append(EncodedFrame(turn: Int32(number)))
            #expect(playout.append(mark: "\(number)") == nil)
        }
        playout.trim(to: 3)
        #expect(playout.next(reached: &reached)?.turn == 3 && reached == ["0", "1", "2"])
        #expect(playout.next(reached: &reached)?.turn == 4 && reached.last == "3")
    }
    @Test func aFrameLeftOutOfTheMiddleTakesNoMarkWithIt() {
        var playout = Playout()
        var reached: [String] = []
        var loud = EncodedFrame()
        for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(8_000) }
        // Two seconds in which three frames wait: the quiet one in the middle is left out.
        for _ in 0..<2 { playout.append(loud) }
        for _ in 0..<99 {
            playout.append(loud)
            _ = playout.next(reached: &reached)
            playout.keepPace()
        }
        _ = playout.next(reached: &reached)
        playout.append(EncodedFrame())
        #expect(playout.append(mark: "behind the quiet one") == nil)
        playout.append(loud)
        #expect(playout.append(mark: "last") == nil)
        playout.keepPace()
        #expect(playout.frames == 2 && playout.skipped == 1)
        _ = playout.next(reached: &reached)
        _ = playout.next(reached: &reached)
        #expect(reached == ["behind the quiet one"])
        _ = playout.next(reached: &reached)
        #expect(reached == ["behind the quiet one", "last"])
    }
}
