import Foundation
import Testing

/// Whoever sends requests says whether they may end in our own network: what a user sets must not lead there.
@Suite struct HTTPClientUsersTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func everyUserOfTheClientSaysWhatMayBeReached() throws {
        let sources = Self.root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") && !$0.hasPrefix("Net/") }
        var users: [String] = []
        for file in files {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            // `client` is what the property of an HTTP client is called in every room.
            guard text.contains(#/\b(client|http)\.(send|fetch)\(/#) else { continue }
            users.append(file)
            #expect(text.contains("allowsPrivateAddresses"), "\(file) does not say whether it may reach our own network")
        }
        let known: Set = [
            "Realtime/SpeechNetwork.swift", "Bridge/Carriers/CarrierREST.swift", "Delivery/WebhookSender.swift",
            "Tools/HTTP/HTTPTool.swift", "Tools/MCP/MCPExchange.swift", "trunkline/PlaceCall.swift",
        ]
        #expect(known.isSubset(of: users), "the test does not see its users any more: \(users)")
    }

    /// A client that is handed on under another name would not be seen by the test above.
    @Test func clientsHaveOneName() throws {
        let sources = Self.root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        for file in files where file.hasSuffix(".swift") && !file.hasPrefix("Net/") {
            let text = try String(contentsOf: sources.appendingPathComponent(file), encoding: .utf8)
            for match in text.matches(of: #/(\w+): HTTPClient\b/#) {
                #expect(["client", "_"].contains(String(match.1)), "\(file) calls a client \(match.1)")
            }
        }
    }
}
