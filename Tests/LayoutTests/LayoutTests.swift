import Foundation
import Testing

/// The layout of the sources: the width of lines and the length of files.
@Suite struct LayoutTests {
    private static let columns = 120
    private static let lines = 400
    /// The comment in the first line of a longer file of Swift or Python; a reason follows.
    private static let reason = "Over 400 lines: "

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The files in these folders of the repository, and in the top folder itself without its subfolders, that are
    /// chosen by their path.
    private func files(
        in folders: [String], where isChosen: (String) -> Bool
    ) throws -> [(path: String, lines: [Substring])] {
        let manager = FileManager.default
        var paths = try manager.contentsOfDirectory(atPath: Self.root.path)
        for folder in folders {
            let found = manager.enumerator(atPath: Self.root.appendingPathComponent(folder).path)
            paths += try #require(found).compactMap { ($0 as? String).map { "\(folder)/\($0)" } }
        }
        return try paths.filter { isChosen($0) && !$0.contains("__pycache__") }.compactMap { path in
            let file = Self.root.appendingPathComponent(path)
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return nil }
            let text = try String(contentsOf: file, encoding: .utf8)
            return (path, text.split(separator: "\n", omittingEmptySubsequences: false))
        }
    }

    private func isOf(_ endings: String...) -> (String) -> Bool {
        { path in endings.contains { path.hasSuffix($0) } }
    }

    /// Characters are counted, not bytes. No file is exempt: long texts are broken, too.
    @Test func linesOfCodeAreAtMost120ColumnsWide() throws {
        let isSource = isOf(".swift", ".c", ".h", ".js", ".css", ".html", ".py")
        let sources = try files(in: ["Sources", "Tests", "web", "scripts", "deploy"]) { path in
            isSource(path) || path.hasPrefix("scripts/") || path.hasPrefix("deploy/")
        }
        for kind in [".swift", ".c", ".js", ".css", ".html", ".py", "scripts/check", "deploy/trunkline.service"] {
            #expect(sources.contains { $0.path.hasSuffix(kind) }, "no \(kind) is looked at")
        }
        for (path, lines) in sources {
            for (index, line) in lines.enumerated() {
                #expect(line.unicodeScalars.count <= Self.columns, "\(path):\(index + 1) is over 120 columns wide")
            }
        }
    }

    @Test func linesOfProseAreAtMost120ColumnsWide() throws {
        for (path, lines) in try files(in: ["docs"], where: isOf(".md")) {
            var isInFence = false
            for (index, line) in lines.enumerated() {
                if line.hasPrefix("```") { isInFence.toggle() }
                let isTable = line.drop(while: \.isWhitespace).hasPrefix("|")
                guard !isInFence, !isTable, !line.contains("http") else { continue }
                #expect(line.count <= Self.columns, "\(path):\(index + 1) is over 120 columns wide")
            }
        }
    }

    @Test func longFilesOfCodeStateTheirReason() throws {
        for (path, lines) in try files(in: ["Sources", "Tests"], where: isOf(".swift", ".py"))
        where lines.count > Self.lines + 1 {
            let reason = (path.hasSuffix(".py") ? "# " : "// ") + Self.reason
            let first = lines.first.map(String.init) ?? ""
            #expect(
                first.hasPrefix(reason) && first.count > reason.count + 10,
                "\(path) has \(lines.count - 1) lines; its first line does not say why")
        }
    }
}
