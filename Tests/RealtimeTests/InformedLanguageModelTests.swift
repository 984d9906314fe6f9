import Net
import Synchronization
import TestSupport
import Testing

@testable import Realtime

/// What is known beforehand: answered directly, or told to a model.
@Suite struct InformedLanguageModelTests {
    private struct Known: Knowledge {
        func search(_ question: String, limit: Int) async -> [KnowledgeHit] {
            [KnowledgeHit(source: "Sundays", text: "At noon.", answer: "We open at noon.", likeness: 0.9)]
        }
        func pairs(limit: Int) async -> [Brief.Fact] {
            (1...100).map { Brief.Fact(question: "Question \($0)?", answer: String(repeating: "x", count: 300)) }
                .prefix(limit).map { $0 }
        }
    }
    private struct Nothing: Knowledge {
        func search(_ question: String, limit: Int) async -> [KnowledgeHit] { [] }
        func pairs(limit: Int) async -> [Brief.Fact] { [] }
    }
    private final class Model: LanguageModel {
        let asked = Mutex<[Conversation]>([])
        func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
            asked.withLock { $0.append(conversation) }
            try await tell(.text("I think at noon."))
        }
    }

    @Test(arguments: [true, false]) func aPairIsAnsweredWithOrWithoutTheModel(directly: Bool) async throws {
        let model = Model(), said = Mutex("")
        var conversation = Conversation(brief: Brief(purpose: "to help", questions: []))
        conversation.items = [.connected, .caller("When do you open on Sundays?")]
        try await InformedLanguageModel(model, knowledge: Known(), answersDirectly: directly).respond(
            to: conversation
        ) { event in if case .text(let text) = event { said.withLock { $0 += text } } }
        #expect(said.withLock { $0 } == (directly ? "We open at noon. " : "I think at noon."))
        #expect(model.asked.withLock { $0.count } == (directly ? 0 : 1))
        #expect(directly || model.asked.withLock { $0.first?.knowledge.first?.answer } == "We open at noon.")
    }

    @Test func theRulesAnswerDirectlyWhateverIsSaid() async throws {
        let client = HTTPClient(), said = Mutex("")
        defer { client.stop() }
        let catalog = SpeechCatalog(
            SpeechSettings(), network: SpeechNetwork(client: client, loops: []),
            embedded: SpeechEngines(
                speechToText: ScriptedCascade().engines.speechToText, languageModel: EmbeddedPolicy(),
                textToSpeech: ScriptedVoice())
        ) { _ in }
        var profile = AgentProfile()
        profile.mode = .embedded
        profile.knowledge.answersDirectly = false
        var conversation = Conversation(brief: Brief(purpose: "to help", questions: []))
        conversation.items = [.connected, .caller("When do you open on Sundays?")]
        let engines = catalog.engines(language: "en", profile: profile, knowledge: Known())
        try await engines.languageModel.respond(to: conversation) { event in
            if case .text(let text) = event { said.withLock { $0 += text } }
        }
        #expect(said.withLock { $0 } == "We open at noon. ", "no model could word it")
    }

    @Test func aSpeechModelIsToldThePairsBeforehand() async throws {
        let text = try #require(await KnowledgeBriefing(Known(), answersDirectly: true).text())
        #expect(
            text.hasPrefix("If the other party asks one of these, say its answer word for word:\n<<<\n- Question 1?"))
        #expect(text.count < 9_000 && text.hasSuffix("\n>>>"), "\(text.count) characters")
        #expect(await KnowledgeBriefing(Known(), answersDirectly: false).text()?.contains("word for word") == false)
        #expect(await KnowledgeBriefing(Nothing(), answersDirectly: true).text() == nil)
    }
}
