import Foundation
import Net
import Realtime
import Store
import Synchronization
import Testing

@testable import KnowledgeBase

/// What a call can find of the knowledge.
@Suite struct KnowledgeStoreTests {
    @Test(arguments: [
        ("default", true), ("a", true), ("salon-2", true), (String(repeating: "a", count: 40), true), ("", false),
        ("Salon", false), ("2salon", false), ("-a", false), ("salon set", false), ("salön", false),
        (String(repeating: "a", count: 41), false),
    ])
    func namesOfSets(name: String, isOne: Bool) { #expect(KnowledgeStore.isSetName(name) == isOne) }

    @Test func aCallFindsWhatIsInItsSets() async throws {
        let folder = NSTemporaryDirectory() + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = try Storage(
            folder: folder, vault: Vault(), reading: Reading(number: { $0 }, words: { KnowledgeWords.tokens($0) }))
        defer { storage.close() }
        let problems = Mutex<[String]>([])
        let client = HTTPClient()
        defer { client.stop() }
        var embeddings = Embeddings.Configuration()
        // Nothing listens there: whoever asks for vectors is found out.
        embeddings.url = "http://127.0.0.1:9"
        func knowledge(_ configuration: Embeddings.Configuration) -> KnowledgeStore {
            KnowledgeStore(
                storage,
                embeddings: Embeddings(configuration, network: SpeechNetwork(client: client, loops: []))
            ) { text in problems.withLock { $0.append(text) } }
        }
        let plain = knowledge(Embeddings.Configuration())
        _ = try await plain.addPair(question: "When do you open on Sundays?", answer: "At noon.", at: Date())
        _ = try await plain.addPair(
            question: "When do you open on Sundays?", answer: "Never.", to: "clinic", at: Date())
        func answers(_ sets: [String]?) async -> [String] {
            await plain.limited(to: sets).search("When are you open on Sundays?", limit: 4).compactMap(\.answer)
        }
        #expect(await answers(["default"]) == ["At noon."])
        #expect(await answers(["clinic"]) == ["Never."])
        #expect(await answers([]).isEmpty)
        #expect(await plain.limited(to: ["clinic"]).pairs(limit: 9).map(\.answer) == ["Never."])
        // An embedded conversation asks no server for vectors.
        let local = knowledge(embeddings).limited(to: ["default"], byWordsAlone: true)
        #expect(await local.search("When are you open on Sundays?", limit: 4).count == 1)
        #expect(problems.withLock { $0 }.isEmpty)
        let remote = knowledge(embeddings).limited(to: ["default"])
        _ = await remote.search("When are you open on Sundays?", limit: 4)
        #expect(problems.withLock { $0 }.count == 1)
    }
}
