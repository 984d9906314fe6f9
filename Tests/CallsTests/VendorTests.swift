import Foundation
import Testing

/// A carrier's name stands in its own folders, in the lists of carriers and dialects, and where its settings are
/// declared; nowhere else. So a carrier is added and removed without looking for it.
@Suite struct VendorTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources")
    private static let vendors =
        #"(?i)twilio|twiml|telnyx|plivo|vonage|nexmo|signalwire|exotel|genesys|audiohook|jambonz|drachtio"#

    /// Folders and files that belong to one carrier, and the lists.
    private static let own =
        #"/(Carriers|Dialects)/[A-Z]\w+/|^API/Carriers/\w+Routes\.swift$|^Calls/Carriers/Carriers\.swift$|"#
        + #"^Bridge/MediaStream/Dialects/Dialects\.swift$|^trunkline/CarrierSettings\.swift$"#

    private func hits(in text: String) throws -> [Substring] {
        let regex = try Regex(Self.vendors)
        return text.split(separator: "\n").filter { $0.contains(regex) }
    }

    @Test func vendorsAreNamedInTheirFoldersAlone() throws {
        let own = try Regex(Self.own)
        let names = try #require(FileManager.default.enumerator(atPath: Self.root.path)).compactMap { $0 as? String }
        let sources = names.filter { $0.hasSuffix(".swift") }
        #expect(sources.count > 200, "the walk finds no sources in \(Self.root.path)")
        for path in sources where !path.contains(own) {
            let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            #expect(try hits(in: text) == [], "\(path) names a carrier: it belongs into the carrier's folders")
        }
    }

    @Test(arguments: ["import TwilioREST", "// as Plivo does", "case vonage"]) func vendorsAreRecognised(_ line: String)
        throws
    {
        #expect(try hits(in: line).count == 1)
    }
}
