import Foundation
import JSON
import Store
import TestSupport
import Testing

@testable import Tools

@Suite(.serialized) struct BeforeCallTests {
    /// A tool for each path of a server, which answers as its path says.
    private func run(_ steps: [BeforeCall.Step], declared: Set<String>? = nil) async throws -> BeforeCall.Verdict {
        let server = ScriptedServer { connection, _ in
            let head = connection.receiveHead()
            let path = head.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            switch path {
            case "/slow": usleep(1_500_000)
            case "/bad":
                connection.send(HTTPToolTests.answer("x", status: "500 No"))
                return
            case "/skip":
                connection.send(HTTPToolTests.answer(#"{"skip":true,"reason":"is a friend","price":1}"#))
                return
            default: break
            }
            connection.send(HTTPToolTests.answer(#"{"price":5,"name":"Ann","other":null}"#))
        }
        defer { server.stop() }
        var verdict = BeforeCall.Verdict.go([:])
        try await ToolCatalogTests.with { catalog in
            for name in ["good", "slow", "bad", "skip"] {
                var json = ToolCatalogTests.document(server.url + "/" + name, name: name)
                if name != "skip" { json = ToolDocumentTests.with("/response", .null, in: json) }
                _ = try await catalog.create(.default, try await catalog.check(.default, json))
            }
            let box = try await catalog.box(
                .default, names: ["good", "slow", "bad", "skip"],
                values: ToolValues(callID: "ob-1", direction: "outbound"), means: ToolMeans())
            verdict = await BeforeCall.run(steps, box, variables: ["name": "friend", "x": 1], declared: declared)
        }
        return verdict
    }

    @Test func resultsBecomeVariables() async throws {
        #expect(
            try await run([.init(tool: "good", into: "crm")])
                == .go(["name": "friend", "x": 1, "crm": ["price": 5, "name": "Ann", "other": .null]]))
        #expect(try await run([.init(tool: "good")]) == .go(["name": "Ann", "x": 1, "price": 5]))
        #expect(try await run([.init(tool: "good")], declared: ["name"]) == .go(["name": "Ann", "x": 1]))
    }

    @Test func whatFailsLeavesTheVariables() async throws {
        let steps: [BeforeCall.Step] = [.init(tool: "bad"), .init(tool: "slow", timeoutMs: 300), .init(tool: "gone")]
        #expect(try await run(steps) == .go(["name": "friend", "x": 1]))
    }

    @Test func aCallMayBeSkipped() async throws {
        #expect(try await run([.init(tool: "good"), .init(tool: "skip")]) == .skip(reason: "is a friend"))
    }

    @Test func allOfThemTakeThreeSeconds() async throws {
        let begun = ContinuousClock.now
        let verdict = try await run([
            .init(tool: "slow"), .init(tool: "slow", into: "b"), .init(tool: "slow", into: "c"),
        ])
        #expect(begun.duration(to: .now) < .milliseconds(4_500))
        guard case .go(let variables) = verdict else { return #expect(Bool(false)) }
        #expect(variables["price"] == 5 && variables["c"] == nil)
    }
}
