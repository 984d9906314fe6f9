public import Pipeline
public import Realtime
internal import Synchronization

/// Recogniser, language model and voice that do what the test says, without time of their own.
public final class ScriptedCascade: Sendable {
    private struct State {
        var texts: [String] = []
        var responses: [[LanguageModelEvent]] = []
        var conversations: [Conversation] = []
        var cancelled = 0
        var isRecognizerStuck = false
        var recognizer: CheckedContinuation<Void, Never>?
        var frames = 0
        var sound: [AudioFrame] = []
        var hints: [AnswerHints] = []
        var transcripts: Edge<TranscriptEvent>?
    }
    private let state = Mutex(State())
    /// Milliseconds of sound for a character of text.
    private let msPerCharacter: Int
    /// Of the recogniser, hertz.
    private let sampleRate: Int32

    public init(msPerCharacter: Int = 40, sampleRate: Int32 = 8_000) {
        self.msPerCharacter = msPerCharacter
        self.sampleRate = sampleRate
    }

    public var engines: SpeechEngines {
        SpeechEngines(
            speechToText: Recognizer(script: self), languageModel: Model(script: self),
            textToSpeech: Voice(script: self))
    }

    // MARK: What the test says

    /// The texts of the caller's next turns.
    public func hear(_ texts: String...) { state.withLock { $0.texts += texts } }
    /// The model's next response. Without one it does not answer.
    public func respond(_ events: LanguageModelEvent...) { respond(all: events) }
    public func respond(all events: [LanguageModelEvent]) { state.withLock { $0.responses.append(events) } }
    public func say(_ text: String) { state.withLock { $0.responses.append([.text(text)]) } }
    /// The recogniser tells something before the turn is over.
    public func tell(_ event: TranscriptEvent) { state.withLock { $0.transcripts }?.offer(event) }
    /// The recogniser takes nothing in, until `releaseRecognizer`.
    public func blockRecognizer() { state.withLock { $0.isRecognizerStuck = true } }
    public func releaseRecognizer() {
        state.withLock { state in
            state.isRecognizerStuck = false
            defer { state.recognizer = nil }
            return state.recognizer
        }?.resume()
    }

    // MARK: What the engines were told

    /// What the model was asked, in order.
    public var conversations: [Conversation] { state.withLock { $0.conversations } }
    /// Responses that were given up while the model was thinking.
    public var cancelled: Int { state.withLock { $0.cancelled } }
    /// Frames that the recogniser took.
    public var recognizedFrames: Int { state.withLock { $0.frames } }
    /// What they held.
    public var recognizedSound: [AudioFrame] { state.withLock { $0.sound } }

    private struct Recognizer: SpeechToText {
        let script: ScriptedCascade
        var sampleRate: Int32 { script.sampleRate }
        func recognizes(language: String) -> Bool { true }
        func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
            script.state.withLock { $0.transcripts = output }
            while let signal = await input.next() {
                if script.state.withLock({ $0.isRecognizerStuck }) {
                    await withCheckedContinuation { stuck in script.state.withLock { $0.recognizer = stuck } }
                }
                switch signal {
                case .data(.audio(let frame)):
                    script.state.withLock {
                        $0.frames += 1
                        $0.sound.append(frame)
                    }
                case .data(.expect(let hints)): script.state.withLock { $0.hints.append(hints) }
                case .data(.turnEnded):
                    let text = script.state.withLock { $0.texts.isEmpty ? "" : $0.texts.removeFirst() }
                    try await output.send(.final(text: text, confidence: 1))
                case .data(.paused), .flush: break
                case .end: return
                }
            }
        }
    }

    private struct Model: LanguageModel {
        let script: ScriptedCascade
        func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
            let response = script.state.withLock { state -> [LanguageModelEvent]? in
                state.conversations.append(conversation)
                return state.responses.isEmpty ? nil : state.responses.removeFirst()
            }
            guard let response else { return try await think() }
            for event in response { try await tell(event) }
        }

        /// Until it is cancelled.
        private func think() async throws {
            let never = Edge<Int>("never", limit: 1, whenFull: .wait)
            _ = await never.next()
            script.state.withLock { $0.cancelled += 1 }
            throw CancellationError()
        }
    }

    private struct Voice: TextToSpeech {
        let script: ScriptedCascade
        func speaks(language: String) -> Bool { true }
        func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
            while let signal = await input.next() {
                switch signal {
                case .data(let sentence):
                    let frames = max(1, sentence.text.count * script.msPerCharacter / EncodedFrame.milliseconds)
                    for _ in 0..<frames {
                        var frame = AudioFrame(sampleRate: 8_000)
                        frame.fill { buffer in
                            for index in 0..<160 { buffer[index] = index % 8 < 4 ? 4_000 : -4_000 }
                            return 160
                        }
                        try await output.send(.audio(frame, utterance: sentence.utterance))
                    }
                    try await output.send(.finished(utterance: sentence.utterance))
                case .flush: output.flush()
                case .end: return
                }
            }
        }
    }
}
