import Foundation
import JSON
import Net
import Problems
import Realtime
import Store
import Synchronization
import TestSupport
import Testing

@testable import Tools

@Suite struct ToolCatalogTests {
    static let company = CompanyID.default

    /// A catalogue with a store of its own; the folder is removed afterwards.
    static func with(
        secrets: [String: String] = [:], isBoundToLoopback: Bool = true, vault: Vault = Vault(),
        _ body: (ToolCatalog) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "tools-\(UInt32.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let storage = try Storage(folder: folder, vault: vault, reading: Reading(number: { $0 }, words: { [$0] }))
        defer { storage.close() }
        var settings = ToolSettings()
        settings.secrets = secrets
        try await body(
            ToolCatalog(
                storage: storage, client: HTTPClient(), settings: settings, isBoundToLoopback: isBoundToLoopback))
    }

    static func document(_ url: String, name: String = "lookup", secret: String? = nil) -> JSONValue {
        [
            "name": .string(name), "description": "Looks up.",
            "parameters": ["type": "object", "properties": ["q": ["type": "string"]]],
            "request": ["url": .string(url), "headers": secret.map { ["X": .string("{{secrets.\($0)}}")] } ?? [:]],
            "response": ["into": ["price": "/price"]], "limit": 2,
        ]
    }

    private func code(_ body: () async throws -> Void) async -> ProblemCode? {
        do { try await body() } catch { return (error as? StoreError)?.problem.code }
        return nil
    }

    @Test func toolsAreKeptWithTheirRevision() async throws {
        try await Self.with { catalog in
            let document = try await catalog.check(Self.company, Self.document("https://a.example.org/"))
            let made = try await catalog.create(Self.company, document)
            #expect(made.revision == 1 && made.document == document)
            #expect(await code { _ = try await catalog.create(Self.company, document) } == .toolNameTaken)
            // The same document is no change.
            #expect(try await catalog.replace(Self.company, document, expected: nil).revision == 1)
            let other = try await catalog.check(Self.company, Self.document("https://b.example.org/"))
            #expect(try await catalog.replace(Self.company, other, expected: 1).revision == 2)
            let stale = await code { _ = try await catalog.replace(Self.company, document, expected: 1) }
            #expect(stale == .toolChangedMeanwhile)
            // Another company has its own.
            let elsewhere = CompanyID(rawValue: "other")
            #expect(try await catalog.tools(elsewhere).isEmpty)
            #expect(await code { _ = try await catalog.tool(elsewhere, "lookup") } == .noTool)
            #expect(await code { try await catalog.removeTool(elsewhere, "lookup") } == .noTool)
            catalog.askUsers { _, name in name == "lookup" ? ["agents/salon"] : [] }
            #expect(await code { try await catalog.removeTool(Self.company, "lookup") } == .toolInUse)
            catalog.askUsers { _, _ in [] }
            try await catalog.removeTool(Self.company, "lookup")
            #expect(try await catalog.tools(Self.company).isEmpty)
        }
    }

    @Test func secretsAreListedWithoutTheirValues() async throws {
        try await Self.with(secrets: ["own": "from-the-operator"]) { catalog in
            #expect(try await catalog.setSecret(Self.company, "crm", "value-one").usedBy.isEmpty)
            _ = try await catalog.setSecret(Self.company, "crm", "value-two")
            let document = try await catalog.check(
                Self.company, Self.document("https://a.example.org/", secret: "crm"))
            _ = try await catalog.create(Self.company, document)
            let entries = try await catalog.secretEntries(Self.company)
            #expect(entries.map(\.name) == ["crm", "own"] && entries.map(\.usedBy) == [["tools/lookup"], []])
            #expect(entries[1].updatedAt == nil && !"\(entries)".contains("value"))
            #expect(try await catalog.secrets(Self.company)["crm"] == "value-two")
            #expect(await code { try await catalog.removeSecret(Self.company, "crm") } == .secretInUse)
            #expect(await code { try await catalog.removeSecret(Self.company, "own") } == .secretConfigured)
            #expect(await code { try await catalog.removeSecret(Self.company, "none") } == .noSecret)
            // The operator's secrets are not another company's.
            let elsewhere = CompanyID(rawValue: "other")
            #expect(try await catalog.secretNames(elsewhere).isEmpty)
            try await catalog.removeTool(Self.company, "lookup")
            try await catalog.removeSecret(Self.company, "crm")
            #expect(try await catalog.secretNames(Self.company) == ["own"])
        }
    }

    @Test func beyondLoopbackSecretsAreEncrypted() async throws {
        try await Self.with(isBoundToLoopback: false) { catalog in
            let refused = await code { _ = try await catalog.setSecret(Self.company, "crm", "value") }
            #expect(refused == .secretNeedsKey)
        }
        let key = try Vault.Key(String(repeating: "ab", count: 32))
        try await Self.with(isBoundToLoopback: false, vault: Vault(current: key)) { catalog in
            _ = try await catalog.setSecret(Self.company, "crm", "value")
            #expect(try await catalog.secrets(Self.company)["crm"] == "value")
        }
    }

    @Test func aCallHasItsToolsAsTheyWere() async throws {
        let answers = Mutex(0)
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            let number = answers.withLock { answers in
                answers += 1
                return answers
            }
            connection.send(HTTPToolTests.answer(#"{"price":\#(number)}"#))
        }
        defer { server.stop() }
        try await Self.with { catalog in
            let document = try await catalog.check(Self.company, Self.document(server.url))
            _ = try await catalog.create(Self.company, document)
            let values = ToolValues(callID: "ob-1", direction: "outbound")
            let box = try await catalog.box(
                Self.company, names: ["lookup", "end_call", "gone", "send_sms", "sky.weather", "lookup"],
                servers: ["sky"], values: values, means: ToolMeans())
            #expect(box.tools.map(\.name) == ["lookup"] && box.missing == ["gone", "send_sms", "sky.weather", "sky"])
            try await catalog.removeTool(Self.company, "lookup")
            #expect(await box.call("lookup", arguments: "{}", number: 1).output == #"{"price":1}"#)
            #expect(box.results == ["lookup": ["price": 1]])
            // The same number is the same request: it does not count twice.
            #expect(await box.call("lookup", arguments: "{}", number: 1).status == "ok")
            #expect(await box.call("lookup", arguments: "{}", number: 2).status == "ok")
            #expect(await box.call("lookup", arguments: "{}", number: 3).status == "refused")
            #expect(await box.call("other", arguments: "{}", number: 4).status == "not_available")
            #expect(answers.withLock { $0 } == 3)
        }
    }

    @Test func aChangedToolOfAServerIsUnusedUntilItIsAccepted() throws {
        func listing(_ tools: [(String, String)]) -> MCPClient.Listing {
            MCPClient.Listing(
                tools: tools.map {
                    MCPListedTool(name: $0.0, purpose: $0.1, schema: ["type": "object"], state: .ok, revision: 1)
                }, seconds: 60)
        }
        let server = try MCPServer(
            ["name": "sky", "url": "https://a.example.org/mcp", "allow": ["*"], "deny": ["no_*"]], ToolAddresses())
        var stored = StoredServer(server, at: Date(timeIntervalSince1970: 0))
        stored.adopt(listing([("a", "one"), ("no_b", "x"), ("c", "z")]), at: Date(timeIntervalSince1970: 100))
        #expect(stored.usable.map(\.name) == ["a", "c"] && stored.holdsUntil == Date(timeIntervalSince1970: 160))
        #expect(stored.state(of: stored.tools[1]) == .denied)
        stored.adopt(listing([("a", "two"), ("c", "z"), ("new", "n")]), at: Date(timeIntervalSince1970: 200))
        #expect(stored.usable.map(\.name) == ["c"])
        #expect(stored.tools.map(\.state) == [.changed, .ok, .changed] && stored.tools[0].purpose == "one")
        #expect(stored.tools[0].offered?.purpose == "two" && stored.tools[2].purpose.isEmpty)
        // What is stored is what comes back.
        let text = stored.json.text
        let again = StoredServer(
            ToolRows.Entry(
                name: "sky", text: text, revision: 1, createdAt: stored.createdAt, updatedAt: stored.updatedAt))
        #expect(again == stored)
        stored.adopt(listing([("a", "one"), ("c", "z")]), at: Date(timeIntervalSince1970: 300))
        #expect(stored.tools.map(\.state) == [.ok, .ok] && stored.tools[0].offered == nil)
    }
}
