public import Pipeline

/// The speech-to-text kind: a caller's audio in, transcripts out. One run of the service is one call.
public protocol SpeechToText: Service where Input == RecognizerInput, Output == TranscriptEvent {
    /// The rate of the audio it wants, hertz.
    var sampleRate: Int32 { get }
    /// Whether it recognises a language (BCP 47). Where none does, answers come by keypad.
    func recognizes(language: String) -> Bool
}

/// The input of a recogniser.
public enum RecognizerInput: Sendable {
    /// Speech of the caller, from shortly before its detected start.
    case audio(AudioFrame)
    /// The caller is silent. If the turn ends with this silence, no more of its sound comes: a recogniser may begin.
    case paused
    /// The turn is over: finish and report.
    case turnEnded
    /// What the next answer is likely to be about. A cloud service takes it as key terms, a grammar recogniser as its
    /// grammar.
    case expect(AnswerHints)
}

/// What is being asked, for a recogniser that can make use of it.
public struct AnswerHints: Sendable, Hashable {
    public var kind: Question.Kind
    public var choices: [String]
    /// We asked whether the last answer was understood rightly: yes and no are answers too.
    public var isConfirming: Bool
    public init(kind: Question.Kind, choices: [String] = [], isConfirming: Bool = false) {
        self.kind = kind
        self.choices = choices
        self.isConfirming = isConfirming
    }
}

/// The output of a recogniser.
public enum TranscriptEvent: Sendable, Equatable {
    /// What is known of the turn so far; it may still change.
    case interim(String)
    /// The recogniser takes what was said so far as a whole; the turn may go on all the same.
    case pause(String)
    /// The turn's text; empty when there was speech that it could not make out. `isUncertain`: it is the likeliest, but
    /// another one is nearly as likely.
    case final(text: String, confidence: Double?, isUncertain: Bool = false)
}

/// The text-to-speech kind: sentences in, audio out. One run of the service is one call; a flush drops what is queued.
///
/// The audio has 8 kHz, the rate of the line, whatever the engine makes.
public protocol TextToSpeech: Service where Input == Sentence, Output == SynthesizedAudio {
    func speaks(language: String) -> Bool
}

/// One sentence to speak.
public struct Sentence: Sendable, Equatable {
    /// The utterance of the heard ledger.
    public var utterance: Int
    public var turn: Int32
    public var text: String
    /// BCP 47.
    public var language: String
    public init(utterance: Int, turn: Int32, text: String, language: String) {
        self.utterance = utterance
        self.turn = turn
        self.text = text
        self.language = language
    }
}

public enum SynthesizedAudio: Sendable, Equatable {
    /// 20 ms at 8 kHz; the last of a sentence is filled up with silence.
    case audio(AudioFrame, utterance: Int)
    /// When words of the utterance sound, ms since its begin. They may come before or after their sound.
    case words([SpokenWord], utterance: Int)
    /// The utterance has been synthesised to its end.
    case finished(utterance: Int)
}

/// The language-model kind: the conversation so far in, text and tool calls out.
public protocol LanguageModel: Sendable {
    /// One response, passed on piece by piece. `tell` waits while the receiver is behind, so that the model's
    /// connection is not read faster than its words are used. Cancelling the task ends the response.
    func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws
}

/// Takes the pieces of a response; waits while there is no room for more.
public typealias LanguageModelListener = (LanguageModelEvent) async throws -> Void

public enum LanguageModelEvent: Sendable, Equatable {
    /// A piece of what is to be spoken.
    case text(String)
    case toolCall(name: String, arguments: String)
    /// The title of knowledge that the response uses.
    case source(String)
}

/// The engines of one call's cascade.
public struct SpeechEngines: Sendable {
    public var speechToText: any SpeechToText
    public var languageModel: any LanguageModel
    public var textToSpeech: any TextToSpeech
    /// The language model is the dialogue of rules: it asks its first question in the turn of the first message, as no
    /// answer to that message means anything to it.
    public var asksAtOnce = false
    public init(speechToText: any SpeechToText, languageModel: any LanguageModel, textToSpeech: any TextToSpeech) {
        self.speechToText = speechToText
        self.languageModel = languageModel
        self.textToSpeech = textToSpeech
    }
}
