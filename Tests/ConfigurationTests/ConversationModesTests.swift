import Foundation
import KnowledgeBase
import Net
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls
@testable import trunkline

/// The ways in which a call is held, by the configuration and by what its agent says.
@Suite struct ConversationModesTests {
    private func names(_ profile: AgentProfile?, _ change: (inout RealtimeSettings) -> Void) throws -> [String] {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = try Storage(
            folder: folder, vault: Vault(), reading: Reading(number: { $0 }, words: { KnowledgeWords.tokens($0) }))
        defer { storage.close() }
        let client = HTTPClient()
        defer { client.stop() }
        var realtime = RealtimeSettings()
        realtime.openAI.apiKey = "key"
        change(&realtime)
        let catalog = SpeechCatalog(
            SpeechSettings(), network: SpeechNetwork(client: client, loops: []), embedded: ScriptedCascade().engines
        ) { _ in }
        let modes = ConversationModes(
            realtime: realtime, catalog: catalog,
            knowledge: KnowledgeStore(storage, embeddings: nil) { _ in })
        return modes.modes(of: ConversationRequest(language: "en", profile: profile), UsageMeter()).map(\.name)
    }

    private func profile(_ mode: AgentProfile.Mode?, provider: String? = nil) -> AgentProfile {
        var profile = AgentProfile()
        profile.mode = mode
        profile.speechModel.provider = provider
        return profile
    }

    @Test func withoutAnAgentTheConfigurationDecides() throws {
        #expect(try names(nil) { _ in } == ["cascade"])
        #expect(try names(nil) { $0.mode = .realtime } == ["realtime/openai", "cascade"])
        #expect(
            try names(nil) {
                $0.mode = .realtime
                $0.fallsBack = false
            } == ["realtime/openai"])
        #expect(try names(AgentProfile()) { $0.mode = .realtime } == ["realtime/openai", "cascade"])
    }

    @Test func anAgentChoosesItsMode() throws {
        #expect(try names(profile(.cascade)) { $0.mode = .realtime } == ["cascade"])
        #expect(try names(profile(.embedded)) { $0.mode = .realtime } == ["cascade"])
        #expect(try names(profile(.realtime)) { _ in } == ["realtime/openai", "cascade"])
        #expect(
            try names(profile(.realtime, provider: "gemini")) { $0.gemini.apiKey = "key" }
                == ["realtime/gemini", "realtime/openai", "cascade"])
        #expect(
            try names(profile(.realtime, provider: "gemini")) {
                $0.gemini.apiKey = "key"
                $0.openAI.apiKey = nil
                $0.fallsBack = false
            } == ["realtime/gemini"], "what has no key is not asked")
    }
}
