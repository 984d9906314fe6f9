import Bridge
import Net
import Pipeline
import Realtime
import Synchronization
import Testing

@testable import Calls

/// Found by scripts/soak: a call's engines, queues and resamplers stayed behind when it was over.
@Suite struct AgentSessionLifeTests {
    /// Freed with whatever holds it.
    private final class Token: Sendable {}

    private struct Listener: SpeechToText {
        let token: Token
        var sampleRate: Int32 { 16_000 }
        func recognizes(language: String) -> Bool { true }
        func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
            while let signal = await input.next() { if case .end = signal { return } }
        }
    }
    private struct Voice: TextToSpeech {
        let token: Token
        func speaks(language: String) -> Bool { true }
        func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
            while let signal = await input.next() {
                if case .end = signal { return }
                if case .data(let sentence) = signal { try await output.send(.finished(utterance: sentence.utterance)) }
            }
        }
    }
    private struct Model: LanguageModel {
        let token: Token
        func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
            try await tell(.text("Good morning."))
        }
    }

    @Test func allPartsOfACallAreReleased() async throws {
        let loop = try EventLoop(name: "life")
        loop.start()
        defer { loop.stop() }
        weak var left: Token?
        do {
            let token = Token()
            left = token
            await Self.call(on: loop, token)
        }
        for _ in 0..<200 where left != nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(left == nil, "the call's engines are still held")
    }

    /// A call that is answered, spoken in, and hung up.
    private static func call(on loop: EventLoop, _ token: Token) async {
        await withCheckedContinuation { done in
            loop.post {
                let ends = MediaStreamPair.make()
                let engines = SpeechEngines(
                    speechToText: Listener(token: token), languageModel: Model(token: token),
                    textToSpeech: Voice(token: token))
                let brief = Brief(purpose: "to ask", questions: [Question(id: "q1", text: "Will you come?")])
                let graph = CallGraph(
                    loop: loop, stream: ends.application, modes: [.cascade(engines)], brief: brief, settings: .init(),
                    recording: nil
                ) { event in
                    if case .ended = event { done.resume() }
                }
                graph.start()
                graph.streamStarted()
                for _ in 0..<50 { ends.carrier.send(.media(EncodedFrame())) }
                graph.finish(.calleeHangup)
            }
        }
    }
}
