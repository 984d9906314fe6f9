import Foundation
import Pipeline
import Synchronization
import Testing

@testable import Realtime

@Suite struct VoiceTests {
    @Test func characterTimesBecomeWords() {
        var words = CharacterWords()
        let first = words.take(["H", "i", " ", "y", "o"], [0, 50, 100, 150, 200], [50, 50, 50, 50, 50], offsetMs: 0)
        let second = words.take(["u", ".", " "], [0, 50, 100], [50, 50, 50], offsetMs: 250)
        #expect(
            first == [SpokenWord("Hi", startMs: 0, endMs: 100)]
                && second == [SpokenWord("you.", startMs: 150, endMs: 350)])
        #expect(words.finish() == nil)
        // Lists of different lengths, and times that cannot be.
        #expect(
            words.take(["a", "b"], [.max], [.min, 3], offsetMs: 10).isEmpty
                && words.finish() == SpokenWord("a", startMs: 3_600_010, endMs: 3_600_010)
        )
    }

    @Test func samplesAreWholeHoweverTheBytesAreCut() {
        var assembler = SampleAssembler()
        #expect(
            assembler.samples([0x01, 0x02, 0xFF]) == [0x0201] && assembler.samples([]) == []
                && assembler.samples([0x7F, 0x00, 0x80]) == [0x7FFF, -0x8000])
    }

    @Test(arguments: [
        (0, "One two three four five."), (500, "three four five."), (1_000, "four five."), (10_000, ""),
    ])
    func anotherVoiceSaysTheRest(spokenMs: Int, rest: String) {
        #expect(FallbackSpeech.rest(of: "One two three four five.", afterMs: spokenMs) == rest)
    }

    @Test func exactWordsBeatTheEstimate() {
        var ledger = HeardLedger()
        let utterance = ledger.begin(turn: 1, text: "One two three.")
        ledger.generated(1_000, of: utterance)
        ledger.words(
            [
                SpokenWord("One", startMs: 0, endMs: 100), SpokenWord("two", startMs: 100, endMs: 800),
                SpokenWord("three.", startMs: 800, endMs: 1_000),
            ], of: utterance)
        ledger.played(460, of: utterance, from: 0)
        ledger.flush()
        #expect(ledger.heardText(turn: 1) == "One two" && !ledger.isCutEstimated(turn: 1))
    }

    private final class Beeps: Sendable {
        let started = Mutex<[String]>([])
        func speech(_ sentence: Sentence, _ pieces: Edge<VoicePiece>) async throws {
            started.withLock { $0.append(sentence.text) }
            if sentence.text == "broken" { throw SpeechError("it broke", .broken) }
            if sentence.text == "for ever" { try await Task.sleep(for: .seconds(3_600)) }
            try await pieces.send(.audio([Int16](repeating: 1, count: 160)))
        }
    }

    private func sentence(_ utterance: Int, _ text: String) -> Sentence {
        Sentence(utterance: utterance, turn: 1, text: text, language: "en")
    }

    @Test func sentencesComeInOrder() async throws {
        let beeps = Beeps()
        let input = Edge<Sentence>("in", limit: 8, whenFull: .wait),
            output = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        for index in 0..<4 { input.offer(sentence(index, "\(index)")) }
        input.finish()
        try await SentenceStreams(sampleRate: 8_000, synthesize: beeps.speech).run(from: input, to: output)
        output.finish()
        var finished: [Int] = []
        while case .data(let piece)? = await output.next() {
            if case .finished(let utterance) = piece { finished.append(utterance) }
        }
        #expect(finished == [0, 1, 2, 3] && beeps.started.withLock { $0.sorted() } == ["0", "1", "2", "3"])
    }

    @Test func aFlushGivesUpWhatIsOnItsWay() async throws {
        let beeps = Beeps()
        let input = Edge<Sentence>("in", limit: 8, whenFull: .wait),
            output = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        async let run: Void = SentenceStreams(sampleRate: 8_000, synthesize: beeps.speech).run(from: input, to: output)
        input.offer(sentence(0, "for ever"))
        input.offer(sentence(1, "never"))
        while beeps.started.withLock({ $0.isEmpty }) { await Task.yield() }
        input.flush()
        input.offer(sentence(2, "now"))
        while case let signal? = await output.next() { if case .data(.finished(utterance: 2)) = signal { break } }
        input.finish()
        try await run
    }

    @Test func aBrokenSentenceIsToldWithItsReason() async throws {
        let input = Edge<Sentence>("in", limit: 8, whenFull: .wait),
            output = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        input.offer(sentence(0, "broken"))
        await #expect(throws: SpeechError("it broke", .broken)) {
            try await SentenceStreams(sampleRate: 8_000, synthesize: Beeps().speech).run(from: input, to: output)
        }
    }
}
