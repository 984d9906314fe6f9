public import Foundation
internal import JSON
internal import Store

/// An MCP server in the store, with its tools as they were listed last.
public struct StoredServer: Sendable, Equatable {
    public var server: MCPServer
    /// As they were listed; those that the patterns exclude too.
    public var tools: [MCPListedTool]
    public var listedAt: Date?
    /// When the list is to be fetched anew.
    public var holdsUntil: Date?
    /// Why the last list could not be had; the one before holds.
    public var problem: String?
    public var revision: Int
    public var createdAt: Date
    public var updatedAt: Date

    /// A tool's state, the server's patterns considered.
    public func state(of tool: MCPListedTool) -> MCPListedTool.State {
        server.admits(tool.name) ? tool.state : .denied
    }

    /// Those that may be used: also what was accepted of a tool that has changed is not used.
    var usable: [MCPListedTool] { tools.filter { state(of: $0) == .ok } }

    /// Takes a new list. A tool that is new or has changed waits for an administrator, except in the first list.
    mutating func adopt(_ listing: MCPClient.Listing, at date: Date) {
        let known = Dictionary(tools.map { ($0.name, $0) }) { first, _ in first }
        let isFirst = listedAt == nil
        tools = listing.tools.map { listed in
            guard listed.state != .invalid, !isFirst else { return listed }
            let offer = MCPListedTool.Offer(purpose: listed.purpose, schema: listed.schema)
            guard var old = known[listed.name], old.state != .invalid else {
                return MCPListedTool(
                    name: listed.name, purpose: "", schema: ["type": "object"], state: .changed, offered: offer,
                    revision: 0)
            }
            let isSame = old.purpose == listed.purpose && old.schema == listed.schema && old.revision > 0
            old.state = isSame ? .ok : .changed
            old.offered = isSame ? nil : offer
            return old
        }
        listedAt = date
        holdsUntil = date.addingTimeInterval(listing.seconds)
        problem = nil
    }

    // MARK: Stored

    var json: JSONValue {
        [
            "server": server.json, "tools": .array(tools.map(\.json)), "problem": .optional(problem),
            "listed_at": .optional(listedAt?.timeIntervalSince1970),
            "holds_until": .optional(holdsUntil?.timeIntervalSince1970),
        ]
    }

    init(_ server: MCPServer, at date: Date) {
        self.server = server
        tools = []
        revision = 1
        createdAt = date
        updatedAt = date
    }

    /// nil: what is stored is no server any more, by the rules of today.
    init?(_ entry: ToolRows.Entry) {
        guard let json = try? JSONValue(parsing: Array(entry.text.utf8)), let document = json["server"],
            let server = try? MCPServer(document, nil)
        else { return nil }
        self.server = server
        tools = []
        if case .array(let items)? = json["tools"] { tools = items.compactMap(MCPListedTool.init(stored:)) }
        if case .string(let words)? = json["problem"] { problem = words }
        listedAt = Self.date(json["listed_at"])
        holdsUntil = Self.date(json["holds_until"])
        revision = entry.revision
        createdAt = entry.createdAt
        updatedAt = entry.updatedAt
    }

    private static func date(_ value: JSONValue?) -> Date? {
        if case .number(let number)? = value { number.nearest.map { Date(timeIntervalSince1970: $0) } } else { nil }
    }
}
