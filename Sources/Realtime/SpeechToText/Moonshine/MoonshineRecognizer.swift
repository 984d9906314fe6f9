public import Pipeline

/// English on this machine by Moonshine: no account, no network.
///
/// A short turn that answers a question is compared with all phrases that may answer it. The model tells how likely
/// each of them is, so that an unusual voice whose "five" it would write as "I'm" is understood all the same. A phrase
/// that is likely enough, and likelier than all of another meaning, is what was said. One that is less clear is marked
/// as uncertain, and the dialogue asks back. Where no phrase fits, the turn's text is what the model writes.
public struct MoonshineRecognizer: SpeechToText {
    /// What is certain, and what may be asked back; measured with `trunkline bench recognition` (BENCHMARKS.md).
    struct Thresholds: Sendable {
        var certainScore: Float = -5
        var certainMargin: Float = 2.5
        var likelyScore: Float = -9
        var likelyMargin: Float = 0.8
        /// A free text that is less likely than this for each of its words is noise, or speech that was not understood.
        var wordScore: Float = -2.5
    }

    /// A longer turn is no short answer, ms.
    private static let phraseMs = 4_000
    /// Audio of one turn that is examined, ms; a longer turn is a monologue.
    private static let longestTurnMs = 20_000
    /// Less audio is no word, ms.
    private static let shortestTurnMs = 100
    private static let samplesPerMs = 16
    /// Trees that stay built: one for each kind of question, and those for the choices of some.
    private static let treeLimit = 32

    private let model: MoonshineModel
    private let workers: WorkerPool
    private let trees: PhraseTrees

    public init(model: MoonshineModel, workers: WorkerPool) {
        self.model = model
        self.workers = workers
        trees = PhraseTrees(tokenizer: model.tokenizer, limit: Self.treeLimit)
    }

    /// Builds what every call needs.
    public func warmUp() async throws {
        try await workers.run { [self] in
            for kind in Question.Kind.allCases where kind != .choice { _ = trees.tree(for: AnswerHints(kind: kind)) }
        }
    }

    public var sampleRate: Int32 { 16_000 }
    public func recognizes(language: String) -> Bool { LanguageTag.primary(language) == "en" }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        var hints: AnswerHints?
        var samples: [Float] = []
        while let signal = await input.next() {
            guard case .data(let item) = signal else {
                if case .flush = signal { continue }
                return
            }
            switch item {
            case .expect(let next): hints = next
            case .audio(let frame):
                guard samples.count < Self.longestTurnMs * Self.samplesPerMs else { continue }
                frame.withSamples { samples += $0.map { Float($0) / 32_768 } }
            case .turnEnded:
                let heard = samples
                samples.removeAll(keepingCapacity: true)
                let expected = hints
                let recognition = try await workers.run { [self] in try recognize(heard, expected) }
                try await output.send(recognition.event)
            }
        }
    }

    /// What one turn was taken for, and why.
    struct Recognition: Sendable {
        var text: String
        var isUncertain = false
        /// The best phrase, if the turn was short enough to be one.
        var phrase: PhraseSearch.Result?

        var event: TranscriptEvent { .final(text: text, confidence: nil, isUncertain: isUncertain) }
    }

    func recognize(_ samples: [Float], _ hints: AnswerHints?, _ limits: Thresholds = Thresholds()) throws(SpeechError)
        -> Recognition
    {
        guard samples.count >= Self.shortestTurnMs * Self.samplesPerMs else { return Recognition(text: "") }
        let utterance = try model.hear(Self.leveled(samples))
        var phrase: PhraseSearch.Result?
        if let hints, hints.kind != .text, samples.count <= Self.phraseMs * Self.samplesPerMs {
            phrase = try PhraseSearch.best(in: trees.tree(for: hints), utterance)
        }
        if let phrase, phrase.score >= limits.certainScore, phrase.margin >= limits.certainMargin {
            return Recognition(text: phrase.phrase.text, phrase: phrase)
        }
        if let phrase, phrase.score >= limits.likelyScore, phrase.margin >= limits.likelyMargin {
            return Recognition(text: phrase.phrase.text, isUncertain: true, phrase: phrase)
        }
        let (text, score) = try utterance.transcribe()
        let words = max(1, text.split(separator: " ").count)
        guard score >= limits.wordScore * Float(words + 1) else { return Recognition(text: "", phrase: phrase) }
        // A short answer that fits no phrase was hardly written down rightly.
        return Recognition(text: text, isUncertain: phrase != nil, phrase: phrase)
    }

    /// At one level: the model hears a quiet caller worse.
    private static func leveled(_ samples: [Float]) -> [Float] {
        let loudest = samples.reduce(0) { max($0, abs($1)) }
        guard loudest > 0.001 else { return samples }
        let gain = min(0.5 / loudest, 20)
        return samples.map { $0 * gain }
    }
}
