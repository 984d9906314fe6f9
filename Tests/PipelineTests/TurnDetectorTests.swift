import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct TurnDetectorTests {
    private func events(
        _ pattern: String, _ configuration: TurnDetector.Configuration = .init(silenceMs: 100, monologueMs: 1_000)
    ) throws
        -> [TurnEvent]
    {
        try StageHarness.run(
            TurnDetector(configuration), pattern.map { VoiceActivity(isSpeech: $0 == "#", level: -20) })
    }

    @Test func aPauseIsToldOnce() throws {
        let configuration = TurnDetector.Configuration(silenceMs: 400, monologueMs: 10_000)
        #expect(
            try events("####..........####..........", configuration) == [
                .speechStarted, .paused, .paused, .speechEnded(spokenMs: 360),
            ])
    }
    @Test func theSilenceThatEndsATurnMayChangeWithinIt() {
        var stage = TurnDetector(.init(silenceMs: 600, monologueMs: 10_000))
        func silence(after ms: Int?) -> Int {
            var output: [TurnEvent] = []
            for _ in 0..<10 { stage.process(VoiceActivity(isSpeech: true, level: -20), into: &output) }
            if let ms { stage.silenceMs = ms }
            for frame in 1...200 {
                stage.process(VoiceActivity(isSpeech: false, level: -60), into: &output)
                if case .speechEnded? = output.last { return frame * EncodedFrame.milliseconds }
            }
            return 0
        }
        #expect(silence(after: 300) == 300 && silence(after: 1_200) == 1_200)
        #expect(silence(after: nil) == 600, "the next turn begins as configured")
    }
    @Test func aTurnBeginsWithTwoFramesAndEndsWithSilence() throws {
        #expect(try events("..####.....") == [.speechStarted, .speechEnded(spokenMs: 80)])
    }
    @Test func aClickIsNoTurn() throws { #expect(try events("..#....#....") == []) }
    @Test func aShortPauseDoesNotEndIt() throws {
        #expect(try events("####...####.....") == [.speechStarted, .speechEnded(spokenMs: 220)])
    }
    @Test func aMonologueIsReportedOnce() throws {
        #expect(
            try events(String(repeating: "#", count: 60) + ".....") == [
                .speechStarted, .monologue(spokenMs: 1_000), .speechEnded(spokenMs: 1_200),
            ])
    }
    @Test func aClosedLineEndsTheTurn() throws {
        #expect(try events("####") == [.speechStarted, .speechEnded(spokenMs: 80)])
    }
}
