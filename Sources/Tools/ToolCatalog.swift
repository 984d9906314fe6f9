public import Foundation
public import JSON
public import Net
internal import Problems
public import Store
internal import Synchronization

/// The tools, MCP servers and secrets of all companies: what the API changes, and what calls take theirs from.
public final class ToolCatalog: Sendable {
    /// Who uses a tool, in words for the administrator, e.g. `agents/salon`.
    public typealias Users = @Sendable (_ company: CompanyID, _ tool: String) async throws(StoreError) -> [String]

    let storage: Storage
    let settings: ToolSettings
    public let addresses: ToolAddresses
    let http: HTTPTool
    let mcp: MCPClient
    let now: @Sendable () -> Date
    private let users = Mutex<Users?>(nil)

    /// - Parameter signer: signs requests of tools as webhooks are signed; nil: they are not signed.
    public init(
        storage: Storage, client: HTTPClient, settings: ToolSettings = ToolSettings(), isBoundToLoopback: Bool = true,
        signer: WebhookSecret? = nil, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.storage = storage
        self.settings = settings
        addresses = ToolAddresses(isBoundToLoopback: isBoundToLoopback, allowedHosts: Set(settings.allowedHosts))
        http = HTTPTool(client: client, addresses: addresses, signer: signer, now: now)
        mcp = MCPClient(client: client, addresses: addresses)
        self.now = now
    }

    /// Asked before a tool, or an MCP server, is deleted. To be set once, before the first request.
    public func askUsers(_ users: @escaping Users) { self.users.withLock { $0 = users } }

    /// - Throws: `StoreError.conflict`: somebody uses it.
    func checkUnused(_ company: CompanyID, _ name: String) async throws(StoreError) {
        guard let ask = users.withLock({ $0 }) else { return }
        let found = try await ask(company, name)
        guard found.isEmpty else {
            throw StoreError(.conflict, .toolInUse, ["name": .text(name), "users": .words(found)])
        }
    }

    // MARK: HTTP tools

    private var rows: ToolRows { storage.tools(.tools) }

    /// By name.
    public func tools(_ company: CompanyID) async throws(StoreError) -> [StoredTool] {
        try await rows.all(company).compactMap(StoredTool.init)
    }

    public func tool(_ company: CompanyID, _ name: String) async throws(StoreError) -> StoredTool {
        guard let tool = try await rows.one(company, name).flatMap(StoredTool.init) else {
            throw StoreError(.notFound, .noTool, ["name": .text(String(name.prefix(100)))])
        }
        return tool
    }

    /// Reads a document as it is to be saved.
    public func check(_ company: CompanyID, _ json: JSONValue) async throws -> ToolDocument {
        try ToolDocument(json, addresses, secrets: try await secretNames(company))
    }

    public func create(_ company: CompanyID, _ document: ToolDocument) async throws(StoreError) -> StoredTool {
        let entry = try await rows.create(company, document.name, document.json.text, at: now())
        return try stored(entry)
    }

    /// - Parameter expected: the revision that is replaced; nil: whichever it is.
    public func replace(_ company: CompanyID, _ document: ToolDocument, expected: Int?) async throws(StoreError)
        -> StoredTool
    {
        let entry = try await rows.replace(company, document.name, document.json.text, expected: expected, at: now())
        return try stored(entry)
    }

    public func removeTool(_ company: CompanyID, _ name: String) async throws(StoreError) {
        _ = try await tool(company, name)
        try await checkUnused(company, name)
        try await rows.remove(company, name)
    }

    private func stored(_ entry: ToolRows.Entry) throws(StoreError) -> StoredTool {
        guard let tool = StoredTool(entry) else { throw StoreError(.unavailable, .rowDamaged) }
        return tool
    }

    // MARK: Secrets

    private var secretRows: ToolRows { storage.tools(.secrets) }

    /// Those of the configuration are the company `default`'s; they win over stored ones.
    private func configured(_ company: CompanyID) -> [String: String] {
        company == .default ? settings.secrets : [:]
    }

    public func secretNames(_ company: CompanyID) async throws(StoreError) -> Set<String> {
        Set(try await secretRows.all(company).map(\.name)).union(configured(company).keys)
    }

    /// The values, for headers.
    func secrets(_ company: CompanyID) async throws(StoreError) -> ToolSecrets {
        var values = Dictionary(try await secretRows.all(company).map { ($0.name, $0.text) }) { first, _ in first }
        values.merge(configured(company)) { $1 }
        return ToolSecrets(values)
    }

    /// By name.
    public func secretEntries(_ company: CompanyID) async throws(StoreError) -> [SecretEntry] {
        let users = try await secretUsers(company)
        let configured = configured(company)
        var entries = try await secretRows.all(company).filter { configured[$0.name] == nil }.map {
            SecretEntry(name: $0.name, updatedAt: $0.updatedAt, usedBy: users[$0.name] ?? [])
        }
        entries += configured.keys.map { SecretEntry(name: $0, updatedAt: nil, usedBy: users[$0] ?? []) }
        return entries.sorted { $0.name < $1.name }
    }

    private func secretUsers(_ company: CompanyID) async throws(StoreError) -> [String: [String]] {
        var users: [String: [String]] = [:]
        for tool in try await tools(company) {
            for name in tool.document.secrets { users[name, default: []].append("tools/\(tool.document.name)") }
        }
        for server in try await servers(company) {
            for name in server.server.secrets { users[name, default: []].append("mcp-servers/\(server.server.name)") }
        }
        return users
    }

    /// Stores a secret, or another value for it.
    /// - Parameter value: printable ASCII, as it goes into a header.
    public func setSecret(_ company: CompanyID, _ name: String, _ value: String) async throws(StoreError)
        -> SecretEntry
    {
        guard addresses.isBoundToLoopback || storage.vault.encrypts else {
            throw StoreError(.conflict, .secretNeedsKey)
        }
        try checkStored(company, name)
        try await secretRows.set(company, name, value, at: now())
        return SecretEntry(name: name, updatedAt: now(), usedBy: try await secretUsers(company)[name] ?? [])
    }

    public func removeSecret(_ company: CompanyID, _ name: String) async throws(StoreError) {
        try checkStored(company, name)
        guard let users = try await secretUsers(company)[name], !users.isEmpty else {
            return try await secretRows.remove(company, name)
        }
        throw StoreError(.conflict, .secretInUse, ["name": .text(name), "users": .words(users)])
    }

    private func checkStored(_ company: CompanyID, _ name: String) throws(StoreError) {
        guard configured(company)[name] == nil else {
            throw StoreError(.conflict, .secretConfigured, ["name": .text(name)])
        }
    }

    /// Whether a text may be a secret's value.
    public static func isSecret(_ text: String) -> Bool { !text.isEmpty && HeaderValue.isFit(text) }
    /// Characters of a secret.
    public static let secretLimit = 4_096
}
