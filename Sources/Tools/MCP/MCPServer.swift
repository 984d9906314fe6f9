public import JSON
internal import Problems

/// An MCP server that an administrator names, as it was sent.
public struct MCPServer: Sendable, Equatable {
    public static let timeoutRange = 500...30_000, patternLimit = 50

    public var name: String
    public var url: String
    public var headers: [String: Template]
    /// Patterns of the tools that may be used, and of those that may not.
    public var allow: [String]
    public var deny: [String]
    public var timeoutMs: Int
    public var json: JSONValue

    public var secrets: Set<String> { Set(headers.values.flatMap(\.secrets)) }

    /// - Throws: all that is wrong with it.
    public init(_ json: JSONValue, _ addresses: ToolAddresses?, secrets: Set<String>? = nil) throws(ToolIssues) {
        guard json.bytes.count <= ToolDocument.sizeLimit else {
            throw ToolIssues([ToolIssue(JSONPointer(), .tooLarge, ["limit": .number(ToolDocument.sizeLimit)])])
        }
        let root = JSONPointer()
        var reader = ToolDocumentReader(addresses: addresses)
        let known: Set<String> = ["name", "url", "headers", "allow", "deny", "timeout_ms"]
        let members = reader.object(json, root, known) ?? [:]
        let name = reader.text(members["name"], root / "name", ToolDocument.nameLimit, true)
        if let name, !ToolDocument.isName(name) { reader.fail(root / "name", .notToolName) }
        let url = reader.text(members["url"], root / "url", ToolAddresses.urlLimit, true)
        if let url, let problem = addresses?.problem(with: url) {
            reader.issues.append(ToolIssue(root / "url", problem))
        }
        headers = reader.headers(members["headers"], at: root / "headers")
        for (header, template) in headers.sorted(by: { $0.key < $1.key }) {
            let place = root / "headers" / header
            if ["accept", "user-agent"].contains(header.lowercased()) { reader.fail(place, .reservedName) }
            // No call stands behind a request that lists tools.
            for path in template.places.map(\.path) where path.first != "secrets" {
                reader.fail(place, .placeNotHere, ["path": .text(path.joined(separator: "."))])
            }
            for secret in template.secrets.sorted() where secrets?.contains(secret) == false {
                reader.fail(place, .unknownSecret, ["name": .text(secret)])
            }
        }
        allow = reader.patterns(members["allow"], root / "allow") ?? ["*"]
        deny = reader.patterns(members["deny"], root / "deny") ?? []
        timeoutMs = reader.whole(members["timeout_ms"], root / "timeout_ms", Self.timeoutRange, usual: 8_000)
        guard let name, let url, reader.issues.isEmpty else { throw ToolIssues(reader.issues) }
        self.name = name
        self.url = url
        self.json = json
    }

    func admits(_ tool: String) -> Bool {
        allow.contains { MCPName.fits(tool, $0) } && !deny.contains { MCPName.fits(tool, $0) }
    }
}

extension ToolDocumentReader {
    /// Names with `*` in them; nil: none were sent.
    fileprivate mutating func patterns(_ value: JSONValue?, _ pointer: JSONPointer) -> [String]? {
        guard let value, value != .null else { return nil }
        guard case .array(let items) = value else {
            fail(pointer, .notArray)
            return nil
        }
        if items.count > MCPServer.patternLimit {
            fail(pointer, .tooManyItems, ["limit": .number(MCPServer.patternLimit)])
        }
        var patterns: [String] = []
        for (index, item) in items.enumerated() {
            if item == .null { fail(pointer / index, .notText) }
            guard let text = text(item, pointer / index, MCPName.modelLimit, false) else { continue }
            patterns.append(text)
        }
        return patterns
    }
}
