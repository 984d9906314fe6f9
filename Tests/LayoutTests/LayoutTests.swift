import Foundation
import Testing

/// The layout of the sources: the width of lines and the length of files.
@Suite struct LayoutTests {
    private static let columns = 120
    private static let lines = 400
    /// First line of a longer Swift file; a reason follows.
    private static let reason = "// Over 400 lines: "

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The files of the repository with one of these endings. The top folder itself is searched without its subfolders.
    private func files(in folders: [String], endings: [String]) throws -> [(path: String, lines: [Substring])] {
        let manager = FileManager.default
        var paths = try manager.contentsOfDirectory(atPath: Self.root.path)
        for folder in folders {
            let found = manager.enumerator(atPath: Self.root.appendingPathComponent(folder).path)
            paths += try #require(found).compactMap { ($0 as? String).map { "\(folder)/\($0)" } }
        }
        return try paths.filter { path in endings.contains { path.hasSuffix($0) } }.map { path in
            let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
            return (path, text.split(separator: "\n", omittingEmptySubsequences: false))
        }
    }

    /// A line without the texts in its string literals. Texts stay in one piece, so that a search finds them.
    private func withoutTexts(_ line: Substring) throws -> String {
        let literal = try Regex(###"##".*?"##|#".*?"#|"([^"\\]|\\.)*""###)
        return String(line).replacing(literal, with: "")
    }

    @Test func linesOfCodeAreAtMost120ColumnsWide() throws {
        // A dictionary of translations has one entry a line.
        let sources = try files(in: ["Sources", "Tests", "web"], endings: [".swift", ".js"]).filter {
            !$0.path.hasPrefix("web/ko") && !$0.path.hasPrefix("Tests/EndToEndTests")
        }
        #expect(sources.count > 200)
        for (path, lines) in sources {
            var isInText = false
            for (index, line) in lines.enumerated() {
                let quotes = line.components(separatedBy: "\"\"\"").count - 1
                defer { if quotes % 2 == 1 { isInText.toggle() } }
                guard line.count > Self.columns, !isInText else { continue }
                #expect(try withoutTexts(line).count <= Self.columns, "\(path):\(index + 1) is over 120 columns wide")
            }
        }
    }

    @Test func linesOfProseAreAtMost120ColumnsWide() throws {
        for (path, lines) in try files(in: ["docs"], endings: [".md"]) {
            var isInFence = false
            for (index, line) in lines.enumerated() {
                if line.hasPrefix("```") { isInFence.toggle() }
                let isTable = line.drop(while: \.isWhitespace).hasPrefix("|")
                guard !isInFence, !isTable, !line.contains("http") else { continue }
                #expect(line.count <= Self.columns, "\(path):\(index + 1) is over 120 columns wide")
            }
        }
    }

    @Test func longSwiftFilesStateTheirReason() throws {
        for (path, lines) in try files(in: ["Sources", "Tests"], endings: [".swift"]) where lines.count > Self.lines + 1
        {
            let first = lines.first.map(String.init) ?? ""
            #expect(
                first.hasPrefix(Self.reason) && first.count > Self.reason.count + 10,
                "\(path) has \(lines.count - 1) lines; its first line does not say why")
        }
    }
}
