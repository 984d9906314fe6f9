internal import Foundation
public import Pipeline
internal import Synchronization

/// Voices in order: when one fails, the next one says what has not been said yet.
public struct FallbackSpeech: TextToSpeech {
    /// Characters per second of speech, to estimate where a sentence broke off.
    private static let charactersPerSecond = 15

    private let voices: [NamedEngine<any TextToSpeech>]
    private let health: ProviderHealth
    private let report: EngineReport
    private let usage: UsageMeter?

    /// - Parameters:
    ///   - voices: best first, at least one.
    ///   - usage: records which of them is in use.
    public init(
        _ voices: [NamedEngine<any TextToSpeech>], health: ProviderHealth, usage: UsageMeter? = nil,
        report: @escaping EngineReport
    ) {
        self.usage = usage
        self.voices = voices
        self.health = health
        self.report = report
    }

    public func speaks(language: String) -> Bool { voices.contains { $0.engine.speaks(language: language) } }

    /// Sentences that have not been spoken to their end.
    private final class Unspoken: Sendable {
        /// Sentences beyond this are not spoken; no turn has so many.
        static let limit = 256
        private struct State {
            var sentences: [(sentence: Sentence, spokenMs: Int)] = []
            var inner: Edge<Sentence>?
            var isEnded = false
        }
        private let state = Mutex(State())

        /// False: there is no room for it.
        func add(_ sentence: Sentence) -> Bool {
            state.withLock { state in
                guard state.sentences.count < Self.limit else { return false }
                state.sentences.append((sentence, 0))
                state.inner?.offer(sentence)
                return true
            }
        }
        func flush() {
            state.withLock { state in
                state.sentences.removeAll()
                state.inner?.flush()
            }
        }
        func spoken(_ ms: Int, of utterance: Int) {
            state.withLock { state in
                if let index = state.sentences.firstIndex(where: { $0.sentence.utterance == utterance }) {
                    state.sentences[index].spokenMs += ms
                }
            }
        }
        func finished(_ utterance: Int) {
            state.withLock { $0.sentences.removeAll { $0.sentence.utterance == utterance } }
        }
        func end() {
            state.withLock { state in
                state.isEnded = true
                state.inner?.finish()
            }
        }

        /// The rest goes to the next voice. Returns the sentences that are complete.
        func attach(_ edge: Edge<Sentence>) -> [Int] {
            state.withLock { state in
                state.inner = edge
                var done: [Int] = []
                for index in state.sentences.indices {
                    var sentence = state.sentences[index].sentence
                    sentence.text = FallbackSpeech.rest(of: sentence.text, afterMs: state.sentences[index].spokenMs)
                    if sentence.text.isEmpty { done.append(sentence.utterance) } else { edge.offer(sentence) }
                }
                state.sentences.removeAll { done.contains($0.sentence.utterance) }
                if state.isEnded { edge.finish() }
                return done
            }
        }
    }

    /// The words that follow after this much sound. The estimate rather repeats a word than omits one.
    static func rest(of text: String, afterMs spoken: Int) -> String {
        guard spoken > 0 else { return text }
        let said = HeardLedger.cut(text, to: Double(spoken * charactersPerSecond) / 1_000 / Double(max(1, text.count)))
        return String(text.dropFirst(said.count)).trimmingCharacters(in: .whitespaces)
    }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        usage?.use(.textToSpeech, voices[0].name)
        if voices.count == 1 {
            return try await health.watch(voices[0].name) { try await voices[0].engine.run(from: input, to: output) }
        }
        let unspoken = Unspoken()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                while let signal = await input.next() {
                    switch signal {
                    case .data(let sentence):
                        if !unspoken.add(sentence) {
                            try await output.send(.finished(utterance: sentence.utterance))
                        }
                    case .flush:
                        unspoken.flush()
                        output.flush()
                    case .end:
                        unspoken.end()
                        return false
                    }
                }
                unspoken.end()
                return false
            }
            group.addTask {
                try await speak(unspoken, output)
                return true
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next() { if isOver { return } }
        }
    }

    private func speak(_ unspoken: Unspoken, _ output: Edge<SynthesizedAudio>) async throws {
        try await health.run(voices, kind: "voice", report: report) { voice, worked in
            usage?.use(.textToSpeech, voice.name)
            let sentences = Edge<Sentence>("sentences", limit: Unspoken.limit, whenFull: .wait)
            let audio = Edge<SynthesizedAudio>("audio", limit: 64, whenFull: .wait)
            for utterance in unspoken.attach(sentences) { try await output.send(.finished(utterance: utterance)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { audio.finish() }
                    try await voice.engine.run(from: sentences, to: audio)
                }
                while let signal = await audio.next() {
                    guard case .data(let piece) = signal else {
                        if case .end = signal { break }
                        continue
                    }
                    switch piece {
                    case .audio(_, let utterance): unspoken.spoken(EncodedFrame.milliseconds, of: utterance)
                    case .words: break
                    case .finished(let utterance):
                        unspoken.finished(utterance)
                        worked()
                    }
                    try await output.send(piece)
                }
                try await group.waitForAll()
            }
        }
    }
}
