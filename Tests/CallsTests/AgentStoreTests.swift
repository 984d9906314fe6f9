import Agents
import Foundation
import JSON
import Problems
import Realtime
import Store
import Testing

@testable import Calls

/// A real SQLite file.
@Suite struct AgentStoreTests {
    private struct Kept {
        let store: CallStore
        let directory = AgentDirectory()
        let folder = NSTemporaryDirectory() + "trunkline-test-" + UUID().uuidString

        init(vault: Vault = Vault()) throws { store = try CallStore(folder: folder, vault: vault) }

        func deed(_ by: String = "op", note: String = "", company: CompanyID = .default) -> CallStore.AgentDeed {
            CallStore.AgentDeed(company: company, by: by, at: Date(timeIntervalSince1970: 1_000), note: note)
        }

        func create(_ slug: String = "salon", purpose: String = "one", company: CompanyID = .default) async throws {
            let created = try await store.createAgent(
                document(slug, purpose), deed(company: company), in: directory)
            guard case .stored = created else { throw StoreError(.conflict, .slugTaken) }
        }

        func change(_ purpose: String, expected: Set<Int>? = nil, publishes: Bool = true) async throws
            -> CallStore.AgentChange
        {
            try await store.changeAgent(
                "salon", to: document("salon", purpose), deed(), expected: expected, publishes: publishes,
                in: directory)
        }

        func document(_ slug: String, _ purpose: String) -> JSONValue {
            ["slug": .string(slug), "name": "Salon", "purpose": .string(purpose)]
        }

        func live(_ company: CompanyID = .default) throws -> AgentVersion? {
            directory.version(try #require(AgentName("salon")), of: company)
        }

        func end() throws {
            store.close()
            try FileManager.default.removeItem(atPath: folder)
        }
    }

    @Test func anAgentIsMadeOnce() async throws {
        let kept = try Kept()
        try await kept.create()
        #expect(try kept.live()?.reference == AgentReference(slug: "salon", version: 1))
        #expect(try await kept.store.events(after: 0).map(\.name) == ["agent_published"])
        let envelope = try #require(try await kept.store.events(after: 0).first?.envelope)
        #expect(envelope.hasSuffix(#","by":"op","slug":"salon","version":1}"#) && !envelope.contains("outbound_id"))
        #expect(
            try await kept.store.audit.page(action: nil, limit: 9, cursor: nil).items.map(\.action) == ["agent.create"])
        await #expect(throws: StoreError(.conflict, .slugTaken)) { try await kept.create() }
        try await kept.store.archiveAgent("salon", kept.deed(), in: kept.directory)
        #expect(try kept.live() == nil)
        await #expect(throws: StoreError(.conflict, .slugTaken)) { try await kept.create() }
        #expect(try await kept.store.agents(of: .default).agents.isEmpty)
        #expect(try await kept.store.agent("salon", version: 1, of: .default)?.version.reference.version == 1)
        try kept.end()
    }

    @Test func aCompanySeesItsOwnAgents() async throws {
        let kept = try Kept(), other = CompanyID(rawValue: "other")
        try await kept.create()
        try await kept.create(purpose: "two", company: other)
        #expect(try kept.live(other)?.document["purpose"] == "two")
        #expect(try kept.live()?.document["purpose"] == "one")
        #expect(try await kept.store.agents(of: other).agents.map(\.slug) == ["salon"])
        try kept.end()
    }

    @Test func aVersionIsMadeWhereSomethingIsNew() async throws {
        let kept = try Kept()
        try await kept.create()
        guard case .stored(let same, let isNew) = try await kept.change("one") else { return }
        #expect(same.latest == 1 && !isNew)
        guard case .stored(let draft, _) = try await kept.change("two", publishes: false) else { return }
        #expect(draft.latest == 2 && draft.live == 1)
        #expect(try kept.live()?.document["purpose"] == "one")
        // The draft again, published: no third version.
        guard case .stored(let published, let isThird) = try await kept.change("two") else { return }
        #expect(published.latest == 2 && published.live == 2 && !isThird)
        #expect(try kept.live()?.document["purpose"] == "two")
        // Back to the first one: no copy.
        let restored = try await kept.store.publishAgent(
            "salon", version: 1, kept.deed("boss", note: "bad"), in: kept.directory)
        #expect(
            restored.live == 1 && restored.latest == 2 && restored.publishedBy == "boss"
                && restored.publishNote == "bad")
        #expect(try kept.live()?.document["purpose"] == "one")
        #expect(
            try await kept.store.agentVersions("salon", of: .default, before: .max, limit: 9).map(\.version) == [2, 1])
        await #expect(throws: StoreError(.notFound, .noAgentVersion, ["version": 3])) {
            try await kept.store.publishAgent("salon", version: 3, kept.deed(), in: kept.directory)
        }
        try kept.end()
    }

    @Test func ofManyChangesOfOneStateOneIsMade() async throws {
        let kept = try Kept()
        try await kept.create()
        let outcomes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<200 {
                group.addTask {
                    switch try await kept.change("change \(index)", expected: [1]) {
                    case .stored(_, let isNew): isNew
                    case .changedMeanwhile: false
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 } == 1 && outcomes.count == 200)
        #expect(try await kept.store.agent("salon", of: .default)?.latest == 2)
        #expect(try await kept.store.agentVersions("salon", of: .default, before: .max, limit: 9).count == 2)
        try kept.end()
    }

    @Test func theDirectoryEndsWithWhatIsStored() async throws {
        let kept = try Kept()
        try await kept.create()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<100 { group.addTask { _ = try await kept.change("change \(index)") } }
            try await group.waitForAll()
        }
        #expect(try await kept.store.agent("salon", version: nil, of: .default)?.version == (try kept.live()))
        let again = AgentDirectory()
        try await kept.store.load(again)
        #expect(again.version(try #require(AgentName("salon")), of: .default) == (try kept.live()))
        try kept.end()
    }

    @Test func agentsAndVersionsAreBounded() async throws {
        let kept = try Kept()
        for index in 0..<AgentRows.agentLimit { try await kept.create("a\(index)") }
        await #expect(throws: StoreError(.conflict, .tooManyAgents, ["limit": .number(AgentRows.agentLimit)])) {
            try await kept.create("one-more")
        }
        try await kept.store.archiveAgent("a0", kept.deed(), in: kept.directory)
        try await kept.create()
        for index in 2...AgentRows.versionLimit { _ = try await kept.change("change \(index)") }
        await #expect(throws: StoreError(.conflict, .tooManyVersions, ["limit": .number(AgentRows.versionLimit)])) {
            try await kept.change("one more")
        }
        #expect(try await kept.store.agent("salon", of: .default)?.live == AgentRows.versionLimit)
        try kept.end()
    }

    @Test func documentsAreEncrypted() async throws {
        let key = try Vault.Key(String(repeating: "ab", count: 32))
        let kept = try Kept(vault: Vault(current: key))
        try await kept.create(purpose: "a very private purpose")
        kept.store.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: kept.folder) where name.hasPrefix("calls") {
            let data = try #require(FileManager.default.contents(atPath: kept.folder + "/" + name))
            #expect(data.range(of: Data("very private".utf8)) == nil, "\(name)")
        }
        let again = try CallStore(folder: kept.folder, vault: Vault(current: key))
        #expect(
            try await again.agent("salon", version: 1, of: .default)?.version.document["purpose"]
                == "a very private purpose")
        again.close()
        try FileManager.default.removeItem(atPath: kept.folder)
    }

    @Test func callsThatWaitAreCounted() async throws {
        let kept = try Kept()
        for agent in [AgentReference(slug: "salon", version: 1), AgentReference(slug: "salon", version: 2), nil] {
            var call = Call(
                localNumber: "025550100", remoteNumber: "01012345678", brief: Brief(purpose: "p", questions: []),
                createdAt: Date())
            call.agent = agent
            _ = try await kept.store.insert(call, events: [])
        }
        #expect(try await kept.store.agents(of: .default).queued == ["salon": 2, "default": 1])
        try kept.end()
    }
}
