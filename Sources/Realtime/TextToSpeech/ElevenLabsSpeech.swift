internal import Foundation
public import Net
public import Pipeline

/// ElevenLabs' `stream-input` WebSocket
/// (elevenlabs.io/docs/api-reference/text-to-speech/v-1-text-to-speech-voice-id-stream-input): PCM and, for each
/// character, when it sounds.
///
/// A connection speaks one sentence, so that all its sound belongs to that sentence, and closing the connection stops
/// the service. The next connection is opened while one speaks, so that no sentence waits for it.
public struct ElevenLabsSpeech: TextToSpeech {
    public struct Configuration: Sendable, Equatable {
        public var url = WebSocketURL(host: "api.elevenlabs.io", port: 443, path: "", isSecure: true)
        public var apiKey: String?
        public var model = "eleven_flash_v2_5"
        public var voice = "21m00Tcm4TlvDq8ikWAM"
        /// 1 is the voice's own pace; nil: nothing is said of it.
        public var speed: Double?
        public init() {}
    }

    /// Milliseconds between two pieces of one sentence.
    private static let stallLimitMs = 3_000
    private static let sampleRate: Int32 = 16_000
    /// Of `voice_settings.speed` (elevenlabs.io/docs/api-reference/voices/settings/get).
    static let speeds = 0.7...1.2
    static let service = "text-to-speech/elevenlabs"

    private let configuration: Configuration
    private let network: SpeechNetwork

    public init(_ configuration: Configuration, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
    }

    public func speaks(language: String) -> Bool { true }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        let spare = SpareConnection { try await connect() }
        await spare.prepare()
        do {
            try await SentenceStreams(sampleRate: Self.sampleRate) { sentence, pieces in
                let channel = try await spare.take()
                await spare.prepare()
                defer { channel.close() }
                try await speak(sentence, over: channel, pieces)
            }.run(from: input, to: output)
        } catch {
            await spare.close()
            throw error
        }
        await spare.close()
    }

    private func connect() async throws -> WebSocketChannel {
        var url = configuration.url
        let voice = configuration.voice.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        // Longer than any silence in a call: the connection for the next sentence stays open.
        url.path +=
            "/v1/text-to-speech/\(voice)/stream-input?"
            + HTTPForm.encode([
                ("model_id", configuration.model), ("output_format", "pcm_16000"), ("inactivity_timeout", "180"),
            ])
        return try await network.open(
            url, headers: configuration.apiKey.map { [("xi-api-key", $0)] } ?? [], service: Self.service)
    }

    private func speak(_ sentence: Sentence, over channel: WebSocketChannel, _ pieces: Edge<VoicePiece>) async throws {
        var first: [String: Any] = ["text": " "]
        if let speed = configuration.speed { first["voice_settings"] = ["speed": speed.clamped(to: Self.speeds)] }
        for object in [first, ["text": sentence.text + " ", "flush": true], ["text": ""]] {
            channel.send(
                String(
                    decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]), as: UTF8.self)
            )
        }
        var reading = ElevenLabsReading(sampleRate: Self.sampleRate)
        while !reading.isFinal {
            let bytes: [UInt8]
            do {
                guard
                    let message = try await Deadline.wait(milliseconds: Self.stallLimitMs, { try await channel.next() })
                else {
                    throw SpeechError("\(Self.service) stopped in the middle of a sentence", .stalled)
                }
                guard case .text(let text) = message else { continue }
                bytes = text
            } catch let failure as WebSocketChannel.Failure {
                // Some servers close without a last message once all is said.
                if reading.samples > 0, failure.closeCode == 1_000 { break }
                throw SpeechError(
                    "\(Self.service): \(failure.message)", failure.closeCode == 1_008 ? .unauthorized : .broken)
            }
            for piece in try reading.received(bytes) { try await pieces.send(piece) }
        }
        guard reading.samples > 0 else { throw SpeechError("\(Self.service) gave no sound", .broken) }
        if let last = reading.lastWord() { try await pieces.send(.words([last])) }
    }
}

/// The service's messages for one sentence → its sound and the times of its words.
struct ElevenLabsReading {
    private struct Message: Decodable {
        struct Alignment: Decodable {
            var chars: [String]
            var charStartTimesMs: [Int]
            var charDurationsMs: [Int]
        }
        var audio: String?
        var isFinal: Bool?
        var alignment: Alignment?
        var message: String?
        var error: String?
    }

    private let sampleRate: Int
    private var assembler = SampleAssembler()
    private var characters = CharacterWords()
    /// So far.
    private(set) var samples = 0
    /// The service has said all.
    private(set) var isFinal = false

    init(sampleRate: Int32) { self.sampleRate = Int(sampleRate) }

    /// The pieces of one message, in their order.
    /// - Throws: `SpeechError` for a message that cannot be understood, or that tells of an error.
    mutating func received(_ bytes: [UInt8]) throws(SpeechError) -> [VoicePiece] {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(bytes)) else {
            throw SpeechError("\(ElevenLabsSpeech.service) sent what cannot be understood", .broken)
        }
        if let words = message.error ?? message.message {
            throw SpeechError("\(ElevenLabsSpeech.service): \(words.prefix(300))", .invalid)
        }
        var pieces: [VoicePiece] = []
        if let alignment = message.alignment {
            let told = characters.take(
                alignment.chars, alignment.charStartTimesMs, alignment.charDurationsMs,
                offsetMs: samples * 1_000 / sampleRate)
            if !told.isEmpty { pieces.append(.words(told)) }
        }
        if let audio = message.audio, !audio.isEmpty {
            guard let sound = Data(base64Encoded: audio) else {
                throw SpeechError("\(ElevenLabsSpeech.service) sent sound that is no base64", .broken)
            }
            let piece = assembler.samples(sound)
            samples += piece.count
            pieces.append(.audio(piece))
        }
        isFinal = message.isFinal == true
        return pieces
    }

    /// The word that is not complete yet.
    mutating func lastWord() -> SpokenWord? { characters.finish() }
}

/// Characters with their times → words with theirs.
struct CharacterWords: Sendable {
    private var text = ""
    private var startMs = 0
    private var endMs = 0

    /// - Parameter offsetMs: where the piece begins that the times count from.
    mutating func take(_ characters: [String], _ starts: [Int], _ durations: [Int], offsetMs: Int) -> [SpokenWord] {
        var words: [SpokenWord] = []
        for index in 0..<min(characters.count, starts.count, durations.count) {
            let from = offsetMs + min(max(starts[index], 0), 3_600_000)
            if characters[index].allSatisfy(\.isWhitespace) {
                if let word = finish() { words.append(word) }
                continue
            }
            if text.isEmpty { startMs = from }
            text += characters[index]
            endMs = from + min(max(durations[index], 0), 60_000)
        }
        return words
    }

    mutating func finish() -> SpokenWord? {
        defer { text = "" }
        return text.isEmpty ? nil : SpokenWord(text, startMs: startMs, endMs: endMs)
    }
}
