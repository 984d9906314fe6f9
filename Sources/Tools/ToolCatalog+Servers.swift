internal import Foundation
public import JSON
internal import Net
internal import Problems
public import Store

extension ToolCatalog {
    /// Seconds until a server whose tools could not be listed is asked again.
    private static let retrySeconds = 300.0
    /// Seconds between two looks for lists that do not hold any longer.
    private static let lookSeconds = 30.0

    private var serverRows: ToolRows { storage.tools(.servers) }

    /// By name.
    public func servers(_ company: CompanyID) async throws(StoreError) -> [StoredServer] {
        try await serverRows.all(company).compactMap(StoredServer.init)
    }

    public func server(_ company: CompanyID, _ name: String) async throws(StoreError) -> StoredServer {
        guard let server = try await serverRows.one(company, name).flatMap(StoredServer.init) else {
            throw StoreError(.notFound, .noMcpServer, ["name": .text(String(name.prefix(100)))])
        }
        return server
    }

    /// Reads a server as it is to be saved.
    public func checkServer(_ company: CompanyID, _ json: JSONValue) async throws -> MCPServer {
        try MCPServer(json, addresses, secrets: try await secretNames(company))
    }

    /// Lists the server's tools, and stores both.
    /// - Throws: `StoreError`; its code is `unavailable` where the tools cannot be listed.
    public func createServer(_ company: CompanyID, _ server: MCPServer) async throws(StoreError) -> StoredServer {
        guard try await serverRows.one(company, server.name) == nil else {
            throw StoreError(.conflict, .mcpServerNameTaken, ["name": .text(server.name)])
        }
        var made = StoredServer(server, at: now())
        made.adopt(try await listing(company, server), at: now())
        return try stored(try await serverRows.create(company, server.name, made.json.text, at: now()))
    }

    /// Lists the tools anew. Where that fails the old list holds.
    public func refreshServer(_ company: CompanyID, _ name: String) async throws(StoreError) -> StoredServer {
        let server = try await server(company, name).server
        let listing = try await listing(company, server)
        return try await change(company, name) { [now] in $0.adopt(listing, at: now()) }
    }

    /// Takes the definition that a changed tool has now.
    public func acceptTool(_ company: CompanyID, _ server: String, _ tool: String) async throws(StoreError)
        -> StoredServer
    {
        let known = try await self.server(company, server).tools.first { $0.name == tool }
        guard let known else {
            throw StoreError(
                .notFound, .noMcpTool, ["server": .text(server), "name": .text(String(tool.prefix(100)))])
        }
        if let problem = known.problem {
            throw StoreError(.conflict, .mcpToolLeftOut, ["name": .text(known.name), "problem": .text(problem)])
        }
        guard known.offered != nil else {
            throw StoreError(.conflict, .mcpToolUnchanged, ["name": .text(known.name)])
        }
        return try await change(company, server) { stored in
            guard let index = stored.tools.firstIndex(where: { $0.name == tool }),
                let offer = stored.tools[index].offered
            else { return }
            stored.tools[index].purpose = offer.purpose
            stored.tools[index].schema = offer.schema
            stored.tools[index].offered = nil
            stored.tools[index].state = .ok
            stored.tools[index].revision += 1
        }
    }

    public func removeServer(_ company: CompanyID, _ name: String) async throws(StoreError) {
        let server = try await server(company, name)
        try await checkUnused(company, name)
        try await serverRows.remove(company, name)
        if let target = try? await target(server.server, company, trace: nil) { await mcp.end(target) }
    }

    /// Tries again where somebody else has changed the server meanwhile.
    private func change(
        _ company: CompanyID, _ name: String, _ body: @Sendable (inout StoredServer) -> Void
    ) async throws(StoreError) -> StoredServer {
        for attempt in 1... {
            var server = try await server(company, name)
            let revision = server.revision
            body(&server)
            do throws(StoreError) {
                return try stored(
                    try await serverRows.replace(company, name, server.json.text, expected: revision, at: now()))
            } catch {
                guard error.problem.code == .changedMeanwhile, attempt < 5 else { throw error }
            }
        }
        throw StoreError(.conflict, .changedMeanwhile)
    }

    private func stored(_ entry: ToolRows.Entry) throws(StoreError) -> StoredServer {
        guard let server = StoredServer(entry) else { throw StoreError(.unavailable, .rowDamaged) }
        return server
    }

    // MARK: Listing

    /// The server with its headers filled in.
    func target(_ server: MCPServer, _ company: CompanyID, trace: String?) async throws -> MCPClient.Target {
        let secrets = try await secrets(company)
        let none = ToolValues(callID: "", direction: "")
        var headers: [(name: String, value: String)] = []
        for (name, template) in server.headers.sorted(by: { $0.key < $1.key }) {
            headers.append((name, try ToolRequest.header(template, none, secrets)))
        }
        guard addresses.problem(with: server.url) == nil else {
            throw ToolFailure.refused("the server's address may not be asked")
        }
        return MCPClient.Target(server: server, headers: headers, secrets: secrets, trace: trace)
    }

    private func listing(_ company: CompanyID, _ server: MCPServer) async throws(StoreError) -> MCPClient.Listing {
        do {
            return try await mcp.list(try await target(server, company, trace: nil))
        } catch let error as StoreError { throw error } catch {
            throw StoreError(.unavailable, .mcpNotListed, ["problem": .text(Self.words(error))])
        }
    }

    /// For the administrator: never a header.
    private static func words(_ error: any Error) -> String {
        switch error {
        case let failure as MCPFailure: failure.message
        case let failure as ToolFailure: failure.message
        case is TimeLimit.Passed: "it did not answer in time"
        case let error as NetError: error.message
        default: "it cannot be used now"
        }
    }

    /// Refreshes the lists of all companies, until the task is cancelled.
    /// - Parameter report: told what the store could not do.
    public func keepLists(report: @Sendable (StoreError) -> Void) async {
        while !Task.isCancelled {
            do throws(StoreError) {
                for company in try await serverRows.companies() { try await refreshExpired(company) }
            } catch { report(error) }
            try? await Task.sleep(for: .seconds(Self.lookSeconds))
        }
    }

    /// Lists the tools of every server of a company whose list does not hold any longer.
    public func refreshExpired(_ company: CompanyID) async throws(StoreError) {
        for server in try await servers(company) {
            guard (server.holdsUntil ?? .distantPast) <= now() else { continue }
            do throws(StoreError) { _ = try await refreshServer(company, server.server.name) } catch {
                guard error.code == .unavailable else { throw error }
                let words = error.message
                _ = try await change(company, server.server.name) { [now] stored in
                    stored.problem = words
                    stored.holdsUntil = now().addingTimeInterval(Self.retrySeconds)
                }
            }
        }
    }
}
