import Bridge
import Calls
import Foundation
import Testing

/// The list's filters offer every carrier that a call can have, and no other. The dialects they read from the server.
@Suite struct CarrierNamesTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The keys of an object of `web/carriers.js`.
    private func keys(of name: String) throws -> [String] {
        let text = try String(contentsOf: Self.root.appendingPathComponent("web/carriers.js"), encoding: .utf8)
        let start = try #require(text.range(of: "const \(name) = {\n")).upperBound
        let end = try #require(text.range(of: "};", range: start..<text.endIndex)).lowerBound
        return text[start..<end].split(separator: "\n").compactMap { line in
            line.split(separator: ":").first.map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    @Test func thePagesNameEveryCarrier() throws {
        #expect(try keys(of: "carrierNames") == Carriers.recorded)
    }

    @Test func thePagesNameNoOtherDialect() throws {
        #expect(try Set(keys(of: "dialectNames")).isSubset(of: Dialects.names))
    }
}
