import Pipeline
import Realtime
import Synchronization
import Testing

@Suite struct LanguageModelServiceTests {
    /// Says words until it is cancelled or has said all; counts what it could tell.
    private final class Talkative: LanguageModel {
        let told = Mutex(0)
        let words: Int
        init(words: Int) { self.words = words }
        func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
            for _ in 0..<words {
                try await tell(.text("word "))
                told.withLock { $0 += 1 }
            }
        }
    }
    private struct Broken: LanguageModel {
        func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
            throw SpeechError("no answer", .unavailable)
        }
    }

    private static let conversation = Conversation(
        brief: Brief(purpose: "to ask", questions: []), canRecognizeSpeech: true)

    private static func run(
        _ model: any LanguageModel, limit: Int = 64,
        _ body: (Edge<ModelRequest>, Edge<ModelReply>) async throws -> Void
    ) async throws {
        let requests = Edge<ModelRequest>("requests", limit: 4, whenFull: .wait)
        let replies = Edge<ModelReply>("responses", limit: limit, whenFull: .wait)
        let running = Task { try await LanguageModelService(model).run(from: requests, to: replies) }
        try await body(requests, replies)
        requests.finish()
        try await running.value
    }

    @Test func aReplyComesWithItsGenerationAndAnEnd() async throws {
        try await Self.run(Talkative(words: 2)) { requests, replies in
            try await requests.send(ModelRequest(conversation: Self.conversation, generation: 7))
            for piece: ModelReply.Piece in [.event(.text("word ")), .event(.text("word ")), .finished] {
                #expect(await replies.next() == .data(ModelReply(generation: 7, piece: piece)))
            }
        }
    }

    @Test func aModelWaitsWhileItsWordsAreNotUsed() async throws {
        let model = Talkative(words: 1_000)
        try await Self.run(model, limit: 8) { requests, replies in
            try await requests.send(ModelRequest(conversation: Self.conversation, generation: 1))
            while replies.reading.waits == 0 { await Task.yield() }
            #expect(replies.reading.depth == 8)
            #expect(model.told.withLock { $0 } == 8)
        }
    }

    @Test func aFlushEndsTheReplyAndTheNextRequestIsAnswered() async throws {
        let model = Talkative(words: 1_000)
        try await Self.run(model, limit: 4) { requests, replies in
            try await requests.send(ModelRequest(conversation: Self.conversation, generation: 1))
            while replies.reading.waits == 0 { await Task.yield() }
            requests.flush()
            try await requests.send(ModelRequest(conversation: Self.conversation, generation: 2))
            while case .data(let reply)? = await replies.next(), reply.generation == 1 {}
            #expect(model.told.withLock { $0 } < 20)
        }
    }

    @Test func aFailureIsToldAsSuch() async throws {
        try await Self.run(Broken()) { requests, replies in
            try await requests.send(ModelRequest(conversation: Self.conversation, generation: 1))
            #expect(await replies.next() == .data(ModelReply(generation: 1, piece: .failed("no answer"))))
        }
    }
}
