import Foundation
import Net
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Realtime

/// What an agent's profile makes of the requests to the services that are asked over HTTP. (Those on WebSockets:
/// Tests/EndToEndTests/test_agent_profiles.py.)
@Suite struct ProfileWireTests {
    private final class Bodies: Sendable {
        private let kept = Mutex<[String]>([])
        func add(_ body: String) { kept.withLock { $0.append(body) } }
        var first: String { kept.withLock { $0.first ?? "" } }
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(first.utf8))) as? [String: Any] ?? [:]
        }
    }

    /// A server that keeps the bodies of its requests, and gives them all one answer.
    private static func serve(_ bodies: Bodies, _ kind: String, _ answer: String) -> ScriptedServer {
        ScriptedServer { connection, _ in
            let head = connection.receiveHead()
            let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            let count = length.flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) }
            bodies.add(connection.receive(count ?? 0))
            connection.send(
                "HTTP/1.1 200 OK\r\ncontent-type: \(kind)\r\ncontent-length: \(answer.utf8.count)\r\n"
                    + "connection: close\r\n\r\n\(answer)")
        }
    }

    private func profile() -> AgentProfile {
        var profile = AgentProfile()
        profile.speechToText.provider = "openai"
        profile.speechToText.model = "whisper-large"
        profile.speechToText.language = "ru"
        profile.speechToText.keyterms = ["маникюр", "педикюр"]
        profile.languageModel.provider = "groq"
        profile.languageModel.model = "small-8b"
        profile.languageModel.temperature = 0.9
        profile.textToSpeech.provider = "openai"
        profile.textToSpeech.voice = "cedar"
        profile.textToSpeech.speed = 1.25
        return profile
    }

    private func catalog(_ client: HTTPClient, _ change: (inout SpeechSettings) -> Void) -> SpeechCatalog {
        var settings = SpeechSettings()
        change(&settings)
        return SpeechCatalog(
            settings, network: SpeechNetwork(client: client, loops: []), embedded: ScriptedCascade().engines
        ) { _ in }
    }

    @Test func theVoiceIsAskedForWithVoiceAndPace() async throws {
        let bodies = Bodies(), client = HTTPClient()
        defer { client.stop() }
        let server = Self.serve(bodies, "audio/pcm", String(repeating: "a", count: 960))
        let engines = catalog(client) { $0.openAISpeech.url = "http://127.0.0.1:\(server.port)/v1" }
            .engines(language: "en", profile: profile())
        let sentences = Edge<Sentence>("in", limit: 4, whenFull: .wait)
        let sound = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        let voice = Task { try await engines.textToSpeech.run(from: sentences, to: sound) }
        try await sentences.send(Sentence(utterance: 0, turn: 1, text: "Hello.", language: "en"))
        while case .data(let piece)? = await sound.next() { if case .finished = piece { break } }
        sentences.finish()
        voice.cancel()
        #expect(bodies.json["voice"] as? String == "cedar" && bodies.json["speed"] as? Double == 1.25)
    }

    @Test func theModelIsAskedWithModelTemperatureAndManner() async throws {
        let bodies = Bodies(), client = HTTPClient()
        defer { client.stop() }
        let server = Self.serve(
            bodies, "text/event-stream",
            "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
        let engines = catalog(client) { $0[chat: "groq"].url = "http://127.0.0.1:\(server.port)/v1" }
            .engines(language: "en", profile: profile())
        var conversation = Conversation(brief: Brief(purpose: "to ask", questions: []))
        conversation.items = [.connected]
        conversation.character = AgentCharacter()
        conversation.character?.role = "You are Ann of the salon."
        let said = Mutex("")
        try await engines.languageModel.respond(to: conversation) { event in
            if case .text(let text) = event { said.withLock { $0 += text } }
        }
        #expect(said.withLock { $0 } == "Hi.")
        #expect(bodies.json["model"] as? String == "small-8b" && bodies.json["temperature"] as? Double == 0.9)
        #expect(bodies.first.contains("You are Ann of the salon."))
    }

    @Test func theTranscriptionIsAskedWithModelLanguageAndKeyTerms() async throws {
        let bodies = Bodies(), client = HTTPClient()
        defer { client.stop() }
        let server = Self.serve(bodies, "application/json", "{\"text\":\"да\"}")
        let engines = catalog(client) { $0.transcription.url = "http://127.0.0.1:\(server.port)/v1" }
            .engines(language: "en", profile: profile())
        let heard = Edge<RecognizerInput>("in", limit: 8, whenFull: .wait)
        let texts = Edge<TranscriptEvent>("out", limit: 8, whenFull: .wait)
        let recognizer = Task { try await engines.speechToText.run(from: heard, to: texts) }
        var frame = AudioFrame(sampleRate: 16_000)
        frame.fill { buffer in
            for index in buffer.indices { buffer[index] = 1_000 }
            return buffer.count
        }
        try await heard.send(.audio(frame))
        try await heard.send(.turnEnded)
        if case .data(.final(let text, _, _))? = await texts.next() { #expect(text == "да") }
        heard.finish()
        recognizer.cancel()
        for words in ["whisper-large", "\r\nru\r\n", "маникюр, педикюр"] { #expect(bodies.first.contains(words)) }
    }
}
