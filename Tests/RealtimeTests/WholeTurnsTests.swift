import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Realtime

struct WholeTurnsTests {
    private func frame(_ value: Int16, samples: Int = 320) -> RecognizerInput {
        var frame = AudioFrame(sampleRate: 16_000)
        [Int16](repeating: value, count: samples).withUnsafeBufferPointer { _ = frame.append($0) }
        return .audio(frame)
    }

    private func texts(_ turns: WholeTurns, _ input: [RecognizerInput]) async throws -> [String] {
        let heard = Edge<RecognizerInput>("toRecognizer", limit: max(1, input.count), whenFull: .dropOldest)
        let output = Edge<TranscriptEvent>("transcripts", limit: max(1, input.count), whenFull: .dropOldest)
        for item in input { heard.offer(item) }
        heard.finish()
        try await turns.run(from: heard, to: output)
        output.finish()
        var texts: [String] = []
        while case .data(.final(let text, _, _))? = await output.next() { texts.append(text) }
        return texts
    }

    @Test func everyTurnIsTranscribedWithWhatWasAsked() async throws {
        let turns = WholeTurns(sampleLimit: 16_000) { turn in
            .final(text: "\(turn.samples.count) \(turn.hints?.kind.rawValue ?? "-")", confidence: nil)
        }
        let got = try await texts(
            turns,
            [
                frame(1), .turnEnded, .expect(AnswerHints(kind: .number)), frame(2), frame(2), .turnEnded, .turnEnded,
            ])
        #expect(got == ["320 -", "640 number", ""])
    }

    @Test func aTurnKeepsItsNewestSound() async throws {
        let turns = WholeTurns(sampleLimit: 640) { turn in
            .final(
                text: "\(turn.samples.count) \(turn.samples.first ?? 0) \(turn.samples.last ?? 0)", confidence: nil)
        }
        // A minute of it.
        let got = try await texts(turns, [frame(7)] + (0..<3_000).map { frame(Int16($0)) } + [.turnEnded])
        #expect(got == ["640 2998 2999"])
    }

    @Test func aShortTurnIsTranscribedAtItsPauseAndAgainIfItGoesOn() async throws {
        let counts = Mutex<[Int]>([])
        let turns = WholeTurns(sampleLimit: 16_000, guessLimit: 640) { turn in
            counts.withLock { $0.append(turn.samples.count) }
            return .final(text: "\(turn.samples.count)", confidence: nil)
        }
        #expect(try await texts(turns, [frame(1), .paused, .turnEnded]) == ["320"])
        #expect(counts.withLock { $0 } == [320], "what was guessed is the answer")
        #expect(try await texts(turns, [frame(1), .paused, frame(2), .turnEnded]) == ["640"])
        #expect(try await texts(turns, [frame(1), frame(1), frame(1), .paused, .turnEnded]) == ["960"])
    }

    /// So many turns at once take bounded memory, and no caller waits for minutes.
    @Test func whatFindsNoPlaceIsNotUnderstood() async throws {
        let inHand = WholeTurns.InHand(limit: 2)
        let (begun, hasBegun) = AsyncStream<Void>.makeStream()
        let (go, mayGo) = AsyncStream<Void>.makeStream()
        let slow = WholeTurns(sampleLimit: 640, inHand: inHand) { _ in
            hasBegun.yield()
            for await _ in go { break }
            return .final(text: "slow", confidence: nil)
        }
        let quick = WholeTurns(sampleLimit: 640, inHand: inHand) { _ in .final(text: "quick", confidence: nil) }
        try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<2 { group.addTask { try await texts(slow, [frame(1), .turnEnded]) } }
            var started = begun.makeAsyncIterator()
            for _ in 0..<2 { await started.next() }
            #expect(try await texts(quick, [frame(1), .turnEnded]) == [""])
            mayGo.finish()
            for try await got in group { #expect(got == ["slow"]) }
        }
        #expect(try await texts(quick, [frame(1), .turnEnded]) == ["quick"])
    }

    @Test func aFailedTurnLeavesItsPlace() async throws {
        let inHand = WholeTurns.InHand(limit: 1)
        let broken = WholeTurns(sampleLimit: 640, inHand: inHand) { _ in throw SpeechError("broken") }
        await #expect(throws: SpeechError.self) { try await texts(broken, [frame(1), .turnEnded]) }
        let whole = WholeTurns(sampleLimit: 640, inHand: inHand) { _ in .final(text: "whole", confidence: nil) }
        #expect(try await texts(whole, [frame(1), .turnEnded]) == ["whole"])
    }
}
