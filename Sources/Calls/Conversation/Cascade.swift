internal import Pipeline
internal import Realtime

/// Recogniser, language model and voice between their queues: the one wiring of a cascade, of streams and of turn-based
/// calls. The dialogue stands at the other ends of the queues.
struct Cascade: Sendable {
    let heard: Edge<RecognizerInput>
    let transcripts = Edge<TranscriptEvent>(CallLayout.transcripts)
    let requests = Edge<ModelRequest>(CallLayout.requests)
    let responses = Edge<ModelReply>(CallLayout.responses)
    let sentences = Edge<Sentence>(CallLayout.sentences)
    let audio = Edge<SynthesizedAudio>(CallLayout.audio)
    private let engines: SpeechEngines
    private let background: (any TaskExecutor)?

    /// - Parameters:
    ///   - heard: the queue of the caller's sound: live, or from a file.
    ///   - background: runs what must not hold up the call's loop; nil: the shared threads.
    init(_ engines: SpeechEngines, heard: EdgePlan = CallLayout.heard, background: (any TaskExecutor)? = nil) {
        self.heard = Edge(heard)
        self.engines = engines
        self.background = background
    }

    /// Depth, age, drops and waits of every queue, in flow order.
    var edges: [EdgeReading] {
        [
            heard.reading, transcripts.reading, requests.reading, responses.reading, sentences.reading, audio.reading,
        ]
    }

    /// The engines as stages, to be run by one task, together with the stages that read their results.
    func stages() -> Graph {
        var graph = Graph()
        graph.add(CallLayout.speechToText, engines.speechToText, from: heard, to: transcripts)
        graph.add(
            CallLayout.languageModel, LanguageModelService(engines.languageModel, background: background),
            from: requests, to: responses)
        graph.add(CallLayout.textToSpeech, engines.textToSpeech, from: sentences, to: audio)
        return graph
    }

    /// No more input: the engines end.
    func finish() {
        heard.finish()
        requests.finish()
        sentences.finish()
    }
}

/// What the engines of a cascade take in, and how long they take until they answer. Owned by the dialogue.
struct CascadeMeters {
    var speechToText = StageMeter()
    var dialogue = StageMeter()
    var languageModel = StageMeter()
    var textToSpeech = StageMeter()
    private var turnEndedAt: Int?
    private var askedAt: Int?
    private var sentencesAt: Int?

    mutating func turnEnded(_ now: Int) { turnEndedAt = now }
    mutating func transcribed(_ now: Int) {
        if let begin = turnEndedAt { speechToText.took(milliseconds: now - begin) }
        turnEndedAt = nil
    }
    mutating func asked(_ now: Int) {
        languageModel.count()
        askedAt = now
    }
    mutating func answered(_ now: Int) {
        if let begin = askedAt { languageModel.took(milliseconds: now - begin) }
        askedAt = nil
    }
    mutating func spoke(_ now: Int) {
        textToSpeech.count()
        sentencesAt = sentencesAt ?? now
    }
    mutating func sounded(_ now: Int) {
        if let begin = sentencesAt { textToSpeech.took(milliseconds: now - begin) }
        sentencesAt = nil
    }

    var readings: [StageReading] {
        [
            speechToText.reading(CallLayout.speechToText, .conversation),
            dialogue.reading(CallLayout.dialogue, .conversation),
            languageModel.reading(CallLayout.languageModel, .conversation),
            textToSpeech.reading(CallLayout.textToSpeech, .conversation),
        ]
    }
}
