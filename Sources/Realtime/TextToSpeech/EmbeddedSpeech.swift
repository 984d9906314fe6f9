public import Pipeline

/// Speech that needs no account: flite for English, espeak-ng for everything else.
public struct EmbeddedSpeech: AdjustableSpeech {
    /// Silence before and after a sentence is cut to this, ms: no delay before it, and a natural pause after it.
    private static let leadingSilenceMs = 10
    private static let trailingSilenceMs = 200

    /// Beyond these the voices are not understood.
    static let speeds = 0.5...2.0

    private let workers: WorkerPool
    private var voice: FliteVoice
    /// 1 is the voice's own pace.
    private var speed = 1.0
    private let cache = SentenceCache()

    public init(workers: WorkerPool, voice: FliteVoice = .kal16) {
        self.workers = workers
        self.voice = voice
    }

    public func adjusted(voice: String?, speed: Double?) -> any TextToSpeech {
        var adjusted = self
        if let voice = voice.flatMap({ FliteVoice(rawValue: $0) }) { adjusted.voice = voice }
        if let speed { adjusted.speed = speed.clamped(to: Self.speeds) }
        return adjusted
    }

    public func speaks(language: String) -> Bool {
        LanguageTag.primary(language) == "en" || EspeakNG.path != nil
    }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        while let signal = await input.next() {
            guard case .data(let sentence) = signal else {
                if case .end = signal { return }
                output.flush()
                continue
            }
            let frames = try await frames(sentence)
            for frame in frames { try await output.send(.audio(frame, utterance: sentence.utterance)) }
            try await output.send(.finished(utterance: sentence.utterance))
        }
    }

    private func frames(_ sentence: Sentence) async throws -> [AudioFrame] {
        let key = SentenceCache.Key(
            voice: "\(voice.rawValue) \(speed)", language: sentence.language, text: sentence.text)
        if let known = cache.frames(key, turn: sentence.turn) { return known }
        let frames = try await workers.run { [voice, speed] in
            try Self.synthesize(sentence, voice: voice, speed: speed)
        }
        cache.spoke(key, frames)
        return frames
    }

    /// The whole sentence as 20 ms frames at 8 kHz: it takes about 10 ms, so streaming would gain nothing.
    static func synthesize(_ sentence: Sentence, voice: FliteVoice, speed: Double = 1) throws -> [AudioFrame] {
        let speech =
            LanguageTag.primary(sentence.language) == "en"
            ? try voice.synthesize(sentence.text, speed: speed)
            : try EspeakNG.synthesize(sentence.text, language: sentence.language, speed: speed)
        guard speech.sampleRate > 0 else { throw SpeechError("the speech engine gave audio without a sample rate") }
        let samples = trimmed(speech.samples, rate: Int(speech.sampleRate))
        var chain = try Resampler(from: speech.sampleRate, to: 8_000).then(Framer(sampleRate: 8_000))
        var frames: [AudioFrame] = []
        try chain.process(samples: samples, sampleRate: speech.sampleRate, turn: sentence.turn, into: &frames)
        try chain.finish(into: &frames)
        return frames
    }

    private static func trimmed(_ samples: [Int16], rate: Int) -> ArraySlice<Int16> {
        let lead = rate * leadingSilenceMs / 1_000
        let trail = rate * trailingSilenceMs / 1_000
        let loud: (Int16) -> Bool = { $0 > 200 || $0 < -200 }
        guard let first = samples.firstIndex(where: loud), let last = samples.lastIndex(where: loud) else { return [] }
        return samples[max(0, first - lead)..<min(samples.count, last + trail)]
    }
}
