public import Pipeline
internal import Synchronization

/// Pocketsphinx with a grammar built from the question asked: English short answers, no account, no network.
///
/// Two searches run side by side: the answer grammar, and a loop over all phones that explains any speech. Where the
/// loop explains the audio better by more than `rejectionGap` per frame, what was said is not in the grammar, and the
/// turn is reported as not understood instead of as the grammar's nearest sentence. The engine gives no probability, so
/// `confidence` is nil.
public struct EmbeddedRecognizer: SpeechToText {
    /// Score units a 10 ms frame; measured over in-grammar and out-of-grammar telephone speech (BENCHMARKS.md).
    static let rejectionGap = 8.0
    /// Milliseconds of speech for each phone of the text above which the text cannot be what was said: a hum of one
    /// second fits the grammar's "one" best, but three phones do not take a second.
    static let longestPhoneMs = 220.0
    /// Silence around the speech of a turn: the kept prefix and tail, ms.
    static let paddingMs = 500.0
    /// Audio of one turn that is examined, seconds; a longer turn is a monologue.
    static let longestTurnSeconds = 20

    private let pool: DecoderPool

    public init(pool: DecoderPool) { self.pool = pool }

    public var sampleRate: Int32 { 16_000 }
    public func recognizes(language: String) -> Bool { LanguageTag.primary(language) == "en" }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        var hints: AnswerHints?
        var lease: DecoderPool.Pair?
        defer { if let lease { pool.giveBack(lease) } }
        var batch: [RecognizerInput] = []
        while let signal = await input.next() {
            guard case .data(let first) = signal else {
                if case .flush = signal { continue }
                break
            }
            batch.removeAll(keepingCapacity: true)
            batch.append(first)
            input.drain(into: &batch)
            var audio: [AudioFrame] = []
            for item in batch {
                switch item {
                case .expect(let next): hints = next
                case .paused: break
                case .audio(let frame): audio.append(frame)
                case .turnEnded:
                    let text = try await finish(&lease, audio, hints)
                    audio.removeAll(keepingCapacity: true)
                    try await output.send(.final(text: text, confidence: nil))
                }
            }
            if !audio.isEmpty { try await listen(&lease, audio, hints) }
        }
    }

    private func listen(_ lease: inout DecoderPool.Pair?, _ audio: [AudioFrame], _ hints: AnswerHints?) async throws {
        if lease == nil { lease = try await pool.lease(AnswerGrammar(hints)) }
        guard let pair = lease else { return }
        try await pool.workers.run { pair.process(audio) }
    }

    private func finish(_ lease: inout DecoderPool.Pair?, _ audio: [AudioFrame], _ hints: AnswerHints?) async throws
        -> String
    {
        if lease == nil, audio.isEmpty { return "" }
        if lease == nil { lease = try await pool.lease(AnswerGrammar(hints)) }
        guard let pair = lease else { return "" }
        lease = nil
        defer { pool.giveBack(pair) }
        return try await pool.workers.run {
            pair.process(audio)
            return pair.finish()
        }
    }
}

/// Decoders are large and turns are short: a bounded number serves all calls, leased for one turn each.
///
/// `@unchecked Sendable` is not needed: `state` guards what changes.
public final class DecoderPool: Sendable {
    private static let phones = [
        "AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY", "F", "G", "HH", "IH", "IY", "JH",
        "K", "L",
        "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH",
    ]
    private static var phoneLoop: String {
        "#JSGF V1.0;\ngrammar phones;\npublic <phones> = ("
            + phones.map { "xx" + $0.lowercased() }.joined(separator: " | ") + ")+;\n"
    }

    /// A decoder for the answer and one for the phone loop.
    public final class Pair: Sendable {
        let answer: PocketSphinxDecoder
        private let dictionary: PronouncingDictionary
        let background: PocketSphinxDecoder
        init(model: AcousticModel, words: Set<String>) throws(SpeechError) {
            answer = try PocketSphinxDecoder(model: model, words: words)
            dictionary = model.dictionary
            // Compiling a grammar takes longer than an answer may take: the grammars that every call may need are
            // compiled beforehand.
            for kind in Question.Kind.allCases {
                let grammar = AnswerGrammar(AnswerHints(kind: kind))
                try answer.select(grammar: grammar.name, text: grammar.text)
            }
            let lines = DecoderPool.phones.map { "xx\($0.lowercased()) \($0)\n" }.joined()
            background = try PocketSphinxDecoder(model: model, words: [], extraDictionary: lines, tight: true)
            try background.select(grammar: "phones", text: DecoderPool.phoneLoop)
        }
        func process(_ audio: [AudioFrame]) {
            for frame in audio {
                frame.withSamples {
                    answer.process($0)
                    background.process($0)
                }
            }
        }
        func finish() -> String {
            let heard = answer.finish()
            return verdict(heard, background: background.finish().score)
        }
        func verdict(_ heard: (text: String, score: Int32, samples: Int), background: Int32) -> String {
            let phones = heard.text.split(separator: " ").reduce(0) { sum, word in
                sum + (dictionary.pronunciations(of: String(word)).first?.split(separator: " ").count ?? 4)
            }
            return EmbeddedRecognizer.verdict(heard, background: background, phones: phones)
        }
    }

    private struct State {
        var free: [Pair] = []
        var made = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    public let workers: WorkerPool
    private let model: AcousticModel
    private let limit: Int
    private let state = Mutex(State())
    private let baseWords: Set<String>

    /// - Parameter limit: pairs made at most; each takes about 16 MB.
    public init(model: AcousticModel, workers: WorkerPool, limit: Int) {
        self.model = model
        self.workers = workers
        self.limit = max(1, limit)
        baseWords = AnswerGrammar(AnswerHints(kind: .text)).words
    }

    /// Loads the first pair, so that errors show at start-up; the others follow while calls may already come.
    public func warmUp() async throws {
        giveBack(try await take())
        Task { while mayMake(), let pair = try? await make() { giveBack(pair) } }
    }

    /// A pair that has begun an utterance with this grammar; waits while all are in use.
    func lease(_ grammar: AnswerGrammar) async throws -> Pair {
        let pair = try await take()
        do {
            let model = model
            let base = baseWords
            try await workers.run {
                for word in grammar.words.subtracting(base) {
                    for phones in model.dictionary.pronunciations(of: word).prefix(1) {
                        pair.answer.add(word: word, phones: phones)
                    }
                }
                try pair.answer.select(grammar: grammar.name, text: grammar.text)
                try pair.answer.start()
                try pair.background.start()
            }
            return pair
        } catch {
            giveBack(pair)
            throw error
        }
    }

    private func take() async throws -> Pair {
        while true {
            enum Step { case use(Pair), make, wait }
            let step = state.withLock { state -> Step in
                if let pair = state.free.popLast() { return .use(pair) }
                return mayMake(&state) ? .make : .wait
            }
            switch step {
            case .use(let pair): return pair
            case .make: return try await make()
            case .wait:
                await withCheckedContinuation { continuation in
                    let resumeNow = state.withLock { state -> Bool in
                        if !state.free.isEmpty { return true }
                        state.waiting.append(continuation)
                        return false
                    }
                    if resumeNow { continuation.resume() }
                }
            }
        }
    }

    private func mayMake() -> Bool { state.withLock { mayMake(&$0) } }

    private func mayMake(_ state: inout State) -> Bool {
        guard state.made < limit else { return false }
        state.made += 1
        return true
    }

    private func make() async throws -> Pair {
        let model = model
        let words = baseWords
        do { return try await workers.run { try Pair(model: model, words: words) } } catch {
            state.withLock { $0.made -= 1 }
            throw error
        }
    }

    func giveBack(_ pair: Pair) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.free.append(pair)
            return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        }
        next?.resume()
    }
}

extension EmbeddedRecognizer {
    static func gap(_ heard: (text: String, score: Int32, samples: Int), background: Int32) -> Double {
        (Double(background) - Double(heard.score)) / max(1, Double(heard.samples) / 160)
    }

    /// The text, or nothing where the phone loop explains the audio much better, or the text is far too short for it.
    static func verdict(_ heard: (text: String, score: Int32, samples: Int), background: Int32, phones: Int) -> String {
        guard !heard.text.isEmpty, heard.samples > 0 else { return "" }
        let speechMs = Double(heard.samples) / 16 - paddingMs
        guard gap(heard, background: background) <= rejectionGap, speechMs <= longestPhoneMs * Double(max(1, phones))
        else { return "" }
        return heard.text
    }
}
