import Foundation
import Testing

/// Whoever sends requests says whether they may end in our own network: what a user sets must not lead there.
@Suite struct HTTPClientUsersTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Sources outside of `Net` in which one of these words stands.
    private static func files(with words: String...) throws -> [(path: String, text: String)] {
        let sources = root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        return try files.filter { $0.hasSuffix(".swift") && !$0.hasPrefix("Net/") }.compactMap { file in
            let data = try Data(contentsOf: sources.appendingPathComponent(file))
            let isFound = words.contains { data.range(of: Data($0.utf8)) != nil }
            return isFound ? (file, String(decoding: data, as: UTF8.self)) : nil
        }
    }

    @Test func everyUserOfTheClientSaysWhatMayBeReached() throws {
        var users: [String] = []
        // `client` is what the property of an HTTP client is called in every room.
        for (file, text) in try Self.files(with: "client.send(", "client.fetch(") {
            users.append(file)
            #expect(text.contains("allowsPrivateAddresses"), "\(file) does not say what it may reach")
        }
        let known: Set = [
            "Realtime/SpeechNetwork.swift", "Bridge/Carriers/CarrierREST.swift", "Delivery/WebhookSender.swift",
            "Tools/HTTP/HTTPTool.swift", "Tools/MCP/MCPExchange.swift", "trunkline/PlaceCall.swift",
        ]
        #expect(known.isSubset(of: users), "the test does not see its users any more: \(users)")
    }

    /// A client that is handed on under another name would not be seen by the test above.
    @Test func clientsHaveOneName() throws {
        for (file, text) in try Self.files(with: ": HTTPClient") {
            for match in text.matches(of: #/(\w+): HTTPClient\b/#) {
                #expect(["client", "_"].contains(String(match.1)), "\(file) calls a client \(match.1)")
            }
        }
    }
}
