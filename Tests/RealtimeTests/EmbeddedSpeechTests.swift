import Foundation
import Pipeline
import Testing

@testable import Realtime

/// The real engines: flite speaks, pocketsphinx understands.
@Suite struct EmbeddedSpeechTests {
    /// Found by scripts/soak: every choice that a question ever had stayed compiled in every decoder.
    @Test func grammarsOfManyQuestionsAreNotAllKept() throws {
        let decoder = try PocketSphinxDecoder(model: try AcousticModel(), words: ["yes", "no"])
        func grammar(_ number: Int) -> String { "#JSGF V1.0; grammar g\(number); public <a> = yes | no;" }
        for number in 0..<3 * PocketSphinxDecoder.grammarLimit {
            try decoder.select(grammar: "g\(number)", text: grammar(number))
        }
        #expect(decoder.grammars.count == PocketSphinxDecoder.grammarLimit)
        // One that was given up is compiled again; one that is used does not grow old.
        for _ in 0..<2 {
            for number in [0, 47, 0, 46] { try decoder.select(grammar: "g\(number)", text: grammar(number)) }
        }
        #expect(
            decoder.grammars.count == PocketSphinxDecoder.grammarLimit && decoder.grammars.suffix(2) == ["g0", "g46"])
        try decoder.start()
        _ = decoder.finish()
    }

    @Test func synthesizedSpeechIsRecognised() async throws {
        let workers = WorkerPool(name: "test", threads: 2)
        let pool = DecoderPool(model: try AcousticModel(), workers: workers, limit: 1)
        let input = Edge<RecognizerInput>("in", limit: 1_000, whenFull: .wait)
        let output = Edge<TranscriptEvent>("out", limit: 8, whenFull: .wait)
        let recognizer = Task { try await EmbeddedRecognizer(pool: pool).run(from: input, to: output) }
        var heard: [String] = []
        for (text, kind) in [("Yes, I will be there.", Question.Kind.boolean), ("Four people.", .number)] {
            let frames = try EmbeddedSpeech.synthesize(
                Sentence(utterance: 0, turn: 1, text: text, language: "en"), voice: .rms)
            try await input.send(.expect(AnswerHints(kind: kind)))
            var up = try Resampler(from: 8_000, to: 16_000)
            var audio: [AudioFrame] = []
            let silence = [AudioFrame](
                repeating: {
                    var frame = AudioFrame(sampleRate: 8_000);
                    frame.fill {
                        $0.update(repeating: 0); return 160
                    }; return frame
                }(), count: 12)
            for frame in silence + frames + silence { try up.process(frame, into: &audio) }
            for frame in audio { try await input.send(.audio(frame)) }
            try await input.send(.turnEnded)
            if case .data(.final(let text, let confidence, _))? = await output.next() {
                heard.append(text)
                #expect(confidence == nil, "the engine gives none")
            }
        }
        input.finish()
        try await recognizer.value
        #expect(heard == ["yes i will be there", "four people"])
        workers.stop()
    }

    @Test(arguments: ["ko", "ru"]) func otherLanguagesAreSpokenByEspeak(language: String) throws {
        let text = language == "ko" ? "안녕하세요. 반갑습니다." : "Здравствуйте, как дела?"
        let frames = try EmbeddedSpeech.synthesize(
            Sentence(utterance: 0, turn: 3, text: text, language: language), voice: .kal16)
        #expect(frames.count > 40 && frames.allSatisfy { $0.turn == 3 && $0.count == 160 && $0.sampleRate == 8_000 })
    }

    /// Milliseconds of a sentence, the silence around it taken off.
    private static func lengthMs(_ language: String, _ speed: Double) throws -> Int {
        let sentence = Sentence(
            utterance: 0, turn: 1, text: language == "en" ? "Will you come to the dinner?" : "Вы придёте на ужин?",
            language: language)
        return try EmbeddedSpeech.synthesize(sentence, voice: .kal16, speed: speed).count * EncodedFrame.milliseconds
    }

    @Test(arguments: ["en", "ru"]) func anAgentSpeaksFasterOrSlower(language: String) throws {
        guard language == "en" || EspeakNG.path != nil else { return }
        let own = try Self.lengthMs(language, 1)
        let fast = try Self.lengthMs(language, 1.5), slow = try Self.lengthMs(language, 0.75)
        #expect(Double(fast) < 0.85 * Double(own) && Double(slow) > 1.15 * Double(own), "\(fast) \(own) \(slow)")
    }
}
