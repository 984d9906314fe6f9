internal import Foundation
internal import Net
internal import Pipeline
public import Realtime

/// What a person hears before being joined with the caller.
public struct Briefing: Sendable, Equatable {
    /// nil: an inbound call; its purpose stands in the answers.
    public var purpose: String?
    public var questions: [Question]
    public var answers: [Answer]
    public var lastWords: String?
    /// BCP 47.
    public var language: String

    /// Characters of the caller's last words, and answers, that are told.
    private static let wordLimit = 200
    private static let answerLimit = 5

    /// Sentences, in the call's language.
    /// - Parameter number: the caller's, as a callee would see it.
    func sentences(number: String) -> [String] {
        var told: [(question: String, answer: String)] = []
        for question in questions {
            guard let answer = answers.first(where: { $0.questionID == question.id }), answer.status == .answered,
                let text = answer.summary ?? answer.text
            else { continue }
            told.append((question.text, String(text.prefix(Self.wordLimit))))
        }
        return SpokenText.briefing(
            number: number.filter(\.isNumber).map(String.init).joined(separator: " "), purpose: purpose,
            answers: Array(told.prefix(Self.answerLimit)),
            lastWords: lastWords.map { String($0.prefix(Self.wordLimit)) }, language: language)
    }
}

/// A text spoken once, outside a conversation.
struct Announcement {
    /// Frames of one announcement: a minute.
    private static let frameLimit = 3_000
    /// Milliseconds that the voice may take.
    private static let limitMs = 10_000

    /// All of it, as the line takes it. What the voice does not make in time is left out.
    /// - Parameter loop: runs the voice's tasks.
    static func frames(
        _ sentences: [String], language: String, voice: any TextToSpeech, usage: UsageMeter, on loop: EventLoop
    ) async -> [EncodedFrame] {
        var graph = Graph()
        let texts = Edge<Sentence>("announcement", limit: 64, whenFull: .wait)
        let sounds = Edge<SynthesizedAudio>("announced", limit: 512, whenFull: .wait)
        graph.add("text-to-speech", voice, from: texts, to: sounds)
        for (index, text) in sentences.enumerated() {
            usage.add(.textToSpeech, .characters, text.count)
            _ = texts.offer(Sentence(utterance: index, turn: 1, text: text, language: language))
        }
        texts.finish()
        let stages = graph
        let running = Task(executorPreference: loop) { try? await stages.run() }
        let watch = Task {
            try? await Task.sleep(for: .milliseconds(limitMs))
            running.cancel()
            sounds.finish()
        }
        defer {
            watch.cancel()
            running.cancel()
        }
        var encoder = MuLawEncoder()
        var frames: [EncodedFrame] = []
        while let signal = await sounds.next() {
            guard case .data(let piece) = signal else {
                if case .end = signal { break }
                continue
            }
            if case .audio(let frame, _) = piece { encoder.process(frame, into: &frames) }
            if frames.count >= frameLimit { break }
        }
        return Array(frames.prefix(frameLimit))
    }
}
