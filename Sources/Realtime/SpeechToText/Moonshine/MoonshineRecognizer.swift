public import Pipeline

/// English on this machine by Moonshine: no account, no network.
///
/// A short turn that answers a question is compared with all phrases that may answer it. The model tells how likely
/// each of them is, so that an unusual voice whose "five" it would write as "I'm" is understood all the same. A phrase
/// that is likely enough, and likelier than all of another meaning, is what was said. One that is less clear is marked
/// as uncertain, and the dialogue asks back. Where no phrase fits, the turn's text is what the model writes.
///
/// A short turn is recognised at each pause, since the turn may end with it: the answer is there when it does.
public struct MoonshineRecognizer: SpeechToText {
    /// A longer turn is no short answer, ms.
    private static let phraseMs = 4_000
    /// Audio of one turn that is examined, ms; a longer turn is a monologue.
    private static let longestTurnMs = 20_000
    /// Turns of all calls that are recognised or wait for it: 160 MB at most. More would wait for minutes.
    static let turnsInHand = 256
    /// Less audio is no word, ms.
    private static let shortestTurnMs = 100
    private static let samplesPerMs = 16
    /// Trees that stay built: one for each kind of question, and those for the choices of some.
    private static let treeLimit = 32

    private let model: MoonshineModel
    private let workers: WorkerPool
    private let trees: PhraseTrees
    private let inHand = WholeTurns.InHand(limit: turnsInHand)

    public init(model: MoonshineModel, workers: WorkerPool) {
        self.model = model
        self.workers = workers
        trees = PhraseTrees(tokenizer: model.tokenizer, limit: Self.treeLimit)
    }

    /// Builds what every call needs.
    public func warmUp() async throws {
        try await workers.run { [self] in
            for kind in Question.Kind.allCases where kind != .choice {
                for isConfirming in [false, true] {
                    _ = trees.tree(for: AnswerHints(kind: kind, isConfirming: isConfirming))
                }
            }
        }
    }

    public var sampleRate: Int32 { 16_000 }
    public func recognizes(language: String) -> Bool { LanguageTag.primary(language) == "en" }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        try await WholeTurns(
            sampleLimit: Self.longestTurnMs * Self.samplesPerMs, guessLimit: Self.phraseMs * Self.samplesPerMs,
            inHand: inHand
        ) { turn in
            try await workers.run { try turn.isGivenUp ? nil : recognize(turn.samples, turn.hints) }
        }.run(from: input, to: output)
    }

    func recognize(_ turn: [Int16], _ hints: AnswerHints?, _ limits: AnswerThresholds = AnswerThresholds())
        throws(SpeechError) -> TranscriptEvent
    {
        guard let utterance = try utterance(turn) else { return limits.judge("", score: 0, after: nil) }
        let phrase = try phrase(in: utterance, of: turn, hints)
        if let found = limits.judge(phrase), !limits.isOpen(found, phrase) { return found }
        let (text, score) = try utterance.transcribe()
        return limits.judge(HeardTurn(phrase: phrase, text: text, score: score))
    }

    /// All that a turn sounds like, for choosing thresholds. Takes longer than to recognise it.
    public func hear(_ turn: [Int16], _ hints: AnswerHints?) throws -> HeardTurn {
        guard let utterance = try utterance(turn) else { return HeardTurn(phrase: nil, text: "", score: 0) }
        let phrase = try phrase(in: utterance, of: turn, hints)
        let (text, score) = try utterance.transcribe()
        return HeardTurn(phrase: phrase, text: text, score: score)
    }

    private func utterance(_ turn: [Int16]) throws(SpeechError) -> MoonshineModel.Utterance? {
        guard turn.count >= Self.shortestTurnMs * Self.samplesPerMs else { return nil }
        return try model.hear(Self.leveled(turn))
    }

    /// The best phrase, if the turn is short enough to be one.
    private func phrase(in utterance: MoonshineModel.Utterance, of turn: [Int16], _ hints: AnswerHints?)
        throws(SpeechError) -> HeardTurn.Phrase?
    {
        guard let hints, hints.kind != .text, turn.count <= Self.phraseMs * Self.samplesPerMs else { return nil }
        guard let best = try PhraseSearch.best(in: trees.tree(for: hints), utterance) else { return nil }
        return HeardTurn.Phrase(text: best.phrase.text, score: best.score, margin: best.margin)
    }

    /// At one level: the model hears a quiet caller worse.
    private static func leveled(_ turn: [Int16]) -> [Float] {
        let samples = turn.map { Float($0) / 32_768 }
        let loudest = samples.reduce(0) { max($0, abs($1)) }
        guard loudest > 0.001 else { return samples }
        let gain = min(0.5 / loudest, 20)
        return samples.map { $0 * gain }
    }
}
