/// Names of tools of MCP servers: `server.tool` to people, `server__tool` to models.
public enum MCPName {
    /// Characters that a server's tool may have in its name (Model Context Protocol, "Tool Names").
    private static let limit = 128
    /// Characters of a name that models' interfaces take.
    public static let modelLimit = 64

    public static func forPeople(_ server: String, _ tool: String) -> String { "\(server).\(tool)" }

    /// Models' interfaces take letters, digits, `_` and `-` alone: what else stands in the tool's name becomes `_`.
    public static func forModels(_ server: String, _ tool: String) -> String {
        server + "__" + String(tool.map { isPlain($0) ? $0 : "_" })
    }

    /// The server and the tool of a name for people; nil: it is no such name.
    public static func split(_ name: String) -> (server: String, tool: String)? {
        guard let dot = name.firstIndex(of: ".") else { return nil }
        let server = String(name[..<dot]), tool = String(name[name.index(after: dot)...])
        return ToolDocument.isName(server) && isTool(tool) ? (server, tool) : nil
    }

    /// A tool's name that can be told to people and in a header: letters, digits, `_`, `-`, `.` and `/`.
    static func isTool(_ name: String) -> Bool {
        (1...limit).contains(name.utf8.count) && name.allSatisfy { isPlain($0) || $0 == "." || $0 == "/" }
    }

    private static func isPlain(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber || character == "_" || character == "-")
    }

    /// Whether a name fits a pattern with `*` for any characters.
    static func fits(_ name: String, _ pattern: String) -> Bool {
        let name = Array(name.utf8), pattern = Array(pattern.utf8)
        var at = 0, next = 0, star: Int?, mark = 0
        while at < name.count {
            if next < pattern.count, pattern[next] == UInt8(ascii: "*") {
                star = next
                mark = at
                next += 1
            } else if next < pattern.count, pattern[next] == name[at] {
                at += 1
                next += 1
            } else if let star {
                next = star + 1
                mark += 1
                at = mark
            } else {
                return false
            }
        }
        return pattern[next...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
