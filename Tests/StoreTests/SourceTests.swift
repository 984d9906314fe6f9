import Foundation
import Testing

/// SQL stays in its room, and what only SQLite knows stays in its folder.
@Suite struct SourceTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Sources")

    /// Swift files under a folder, and those of a folder in it left out.
    private func files(in folder: String = "", without other: String) throws -> [(path: String, text: String)] {
        let root = Self.root.appendingPathComponent(folder)
        let names = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
        let wanted = names.filter { $0.hasSuffix(".swift") && !$0.hasPrefix(other + "/") }
        #expect(wanted.count > 10, "the walk finds no sources in \(root.path)")
        return try wanted.map { ($0, try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8)) }
    }

    /// Lines in which a pattern is found, comments left out.
    private func hits(of pattern: String, in text: String) throws -> [Substring] {
        let regex = try Regex(pattern)
        return text.split(separator: "\n").filter { line in
            !line.drop(while: \.isWhitespace).hasPrefix("//") && line.contains(regex)
        }
    }

    private static let sql =
        #"\b(SELECT [\w(*'\\]|INSERT (OR \w+ )?INTO |UPDATE \w+ SET |DELETE FROM |"#
        + #"CREATE (TABLE|INDEX) |ALTER TABLE |DROP (TABLE|INDEX) |PRAGMA )"#

    @Test func noSQLOutsideOfTheStore() throws {
        for (path, text) in try files(without: "Store") {
            #expect(try hits(of: Self.sql, in: text) == [], "\(path) holds SQL: it belongs into Sources/Store")
            #expect(try hits(of: #"import (GRDB|SQLite3)"#, in: text) == [], "\(path): only Sources/Store may do this")
        }
    }

    /// Words of SQLite alone. Another engine has others: `Dialect` says them.
    private static let dialect =
        #"(?i)import GRDB|\bpragma\b|\bsqlite_|\bfts5\b|\bbm25\b|\browid\b|"#
        + #"\bWITHOUT ROWID\b|\bSTRICT\b|"#
        + #"\bINDEXED BY\b|\bINSERT OR\b|\bUPDATE OR\b|\bAUTOINCREMENT\b|"#
        + #"'unixepoch'|\bGLOB\b|\bjson_each\b|\bIFNULL\b|\bwal_|"#
        + #"lastInsertedRowID|changesCount| IS NOT (old|new)\."#
    /// In statements alone: `match` is a word of Swift sources too.
    private static let search = #"\bMATCH \?"#

    @Test func onlyTheFolderOfSQLiteKnowsSQLite() throws {
        for (path, text) in try files(in: "Store", without: "SQLite") {
            #expect(try hits(of: Self.dialect, in: text) == [], "\(path): say it in Sources/Store/SQLite")
            #expect(try hits(of: Self.search, in: text) == [], "\(path): say it in Sources/Store/SQLite")
        }
    }

    /// The patterns find what they are for.
    @Test(arguments: [
        "sql: \"SELECT * FROM calls\"", "INSERT INTO calls (id)", "INSERT OR REPLACE INTO calls",
        "UPDATE calls SET a = 1",
        "DELETE FROM calls", "CREATE TABLE calls (", "PRAGMA synchronous", "SELECT \\(columns) FROM",
    ])
    func sqlIsRecognised(_ line: String) throws { #expect(try hits(of: Self.sql, in: line).count == 1) }

    @Test(arguments: [
        "internal import GRDB", "SELECT seq FROM sqlite_sequence", "ORDER BY rowid", "INSERT OR IGNORE INTO",
        "calls INDEXED BY calls_by_state", "date(created_at, 'unixepoch')", ") STRICT;", "old.a IS NOT new.a",
    ])
    func wordsOfSQLiteAreRecognised(_ line: String) throws { #expect(try hits(of: Self.dialect, in: line).count == 1) }

    @Test(arguments: ["// SELECT a FROM b", "    /// DELETE FROM calls", "let select = update(delete)", "the SELECTed"])
    func otherLinesAreNotFlagged(_ line: String) throws { #expect(try hits(of: Self.sql, in: line) == []) }
}
