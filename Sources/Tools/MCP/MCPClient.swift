internal import Foundation
internal import JSON
internal import Net
internal import Synchronization

/// Speaks to MCP servers over streamable HTTP, of the current revision and of the older ones.
///
/// Which of the two a server speaks is found out by asking, and remembered by its address.
final class MCPClient: Sendable {
    /// What is known of a server.
    enum Era: Sendable, Equatable {
        case modern
        case legacy(version: String, session: String?)
    }

    /// Servers that are remembered.
    private static let eraLimit = 1_000

    private let client: HTTPClient
    private let addresses: ToolAddresses
    private let eras = Mutex<[String: Era]>([:])
    private let ids = Mutex(0)

    init(client: HTTPClient, addresses: ToolAddresses) {
        self.client = client
        self.addresses = addresses
    }

    /// One server as one request finds it.
    struct Target: Sendable {
        var server: MCPServer
        var headers: [(name: String, value: String)]
        var secrets: ToolSecrets
        /// The call's trace; nil: no call stands behind it.
        var trace: String?
    }

    func era(of url: String) -> Era? { eras.withLock { $0[url] } }

    private func remember(_ era: Era?, for url: String) {
        eras.withLock { eras in
            if era != nil, eras[url] == nil, eras.count >= Self.eraLimit { eras.removeAll() }
            eras[url] = era
        }
    }

    private func nextID() -> Int {
        ids.withLock { id in
            id = id == .max ? 1 : id + 1
            return id
        }
    }

    private func exchange(_ target: Target) -> MCPExchange {
        MCPExchange(
            client: client, addresses: addresses, url: target.server.url, headers: target.headers,
            secrets: target.secrets)
    }

    /// Sends a request in the server's era, which is found out where it is not known.
    /// - Parameter named: of the tool, for `Mcp-Name`; with the headers that its arguments want.
    /// - Throws: `MCPFailure`, `NetError`, `CancellationError`.
    func ask(
        _ target: Target, _ method: String, _ params: [String: JSONValue], named: String? = nil,
        more: [(name: String, value: String)] = [], limit: Int
    ) async throws -> JSONValue {
        let url = target.server.url
        switch era(of: url) {
        case .legacy(let version, let session):
            do { return try await askLegacy(target, method, params, version, session, limit: limit) } catch {
                guard try isForgotten(error, session) else { throw error }
                // The session is gone: once anew.
                remember(nil, for: url)
                let (version, session) = try await initialize(target)
                return try await askLegacy(target, method, params, version, session, limit: limit)
            }
        case .modern:
            do { return try await askModern(target, method, params, named, more, limit: limit) } catch {
                // A server that was replaced by an older one; a tool's own error is none of this.
                guard isOlder(error) else { throw error }
                remember(nil, for: url)
                let (version, session) = try await initialize(target)
                return try await askLegacy(target, method, params, version, session, limit: limit)
            }
        case nil:
            do {
                let result = try await askModern(target, method, params, named, more, limit: limit)
                remember(.modern, for: url)
                return result
            } catch let error as MCPFailure {
                if try await isModern(error, target) {
                    remember(.modern, for: url)
                    throw error
                }
                // Whatever else it says to the current revision, it may know an older one.
                let older: (version: String, session: String?)
                do { older = try await initialize(target) } catch is MCPFailure { throw error }
                return try await askLegacy(target, method, params, older.version, older.session, limit: limit)
            }
        }
    }

    /// Ends the session, as a server of an older revision wants it; one that does not is fine too.
    func end(_ target: Target) async {
        guard case .legacy(let version, let session?)? = era(of: target.server.url) else { return }
        remember(nil, for: target.server.url)
        let exchange = exchange(target)
        _ = try? await TimeLimit.within(milliseconds: target.server.timeoutMs) {
            try await exchange.delete([(MCPWire.versionHeader, version), (MCPWire.sessionHeader, session)])
        }
    }

    // MARK: The current revision

    private func askModern(
        _ target: Target, _ method: String, _ params: [String: JSONValue], _ named: String?,
        _ more: [(name: String, value: String)], limit: Int
    ) async throws -> JSONValue {
        let id = nextID()
        var headers = [(MCPWire.versionHeader, MCPWire.modern), ("Mcp-Method", method)]
        if let named { headers.append(("Mcp-Name", HeaderValue.encoded(named))) }
        if let trace = target.trace { headers.append(("traceparent", TraceParent.header(trace: trace))) }
        let body = MCPWire.message(method, MCPWire.modernParams(params, trace: target.trace), id: id)
        return try result(of: await exchange(target).post(body, id: id, headers + more, limit: limit))
    }

    /// The server is of the current revision, although it refused.
    private func isModern(_ failure: MCPFailure, _ target: Target) async throws -> Bool {
        guard case .error(let code, let supported) = failure.kind else { return false }
        guard !MCPWire.modernErrors.contains(code) else {
            // It may name older versions that we speak: then it is to be asked in one of them.
            return supported.map { MCPWire.legacies.isDisjoint(with: $0) } ?? true
        }
        // The error may be the request's own: a server of the current revision says so when it is asked.
        do {
            let found = try await askModern(target, "server/discover", [:], nil, [], limit: MCPExchange.callLimit)
            guard case .array(let versions)? = found["supportedVersions"] else { return false }
            return versions.contains(.string(MCPWire.modern))
        } catch is MCPFailure { return false }
    }

    /// A server known as one of the current revision answers as only an older one does.
    private func isOlder(_ error: any Error) -> Bool {
        switch (error as? MCPFailure)?.kind {
        case .status(let status): [400, 404, 405, 406, 415].contains(status)
        case .error(MCPWire.unsupportedVersion, let supported?): !MCPWire.legacies.isDisjoint(with: supported)
        default: false
        }
    }

    private func result(of answer: MCPExchange.Answer) throws -> JSONValue {
        switch answer.reply {
        case .result(let result)?: return result
        case .error(let code, let data)?:
            var supported: [String]?
            if case .array(let versions)? = data?["supported"] {
                supported = versions.compactMap { if case .string(let version) = $0 { version } else { nil } }
            }
            throw MCPFailure(kind: .error(code: code, supported: supported))
        case nil: throw MCPFailure(kind: .status(answer.status))
        }
    }

    // MARK: Older revisions

    private func initialize(_ target: Target) async throws -> (version: String, session: String?) {
        let exchange = exchange(target), id = nextID()
        let params: JSONValue = [
            "protocolVersion": .string(MCPWire.legacy), "capabilities": [:], "clientInfo": MCPWire.clientInfo,
        ]
        let answer = try await exchange.post(
            MCPWire.message("initialize", params, id: id), id: id, [], limit: MCPExchange.callLimit)
        guard case .string(let version)? = try result(of: answer)["protocolVersion"], MCPWire.legacies.contains(version)
        else { throw MCPFailure(kind: .malformed) }
        // Visible ASCII, as the specification wants it; it goes into a header.
        let session = answer.headers["mcp-session-id"].flatMap { id in
            id.utf8.count <= 1_024 && id.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? id : nil
        }
        _ = try await exchange.post(
            MCPWire.message("notifications/initialized", [:], id: nil), id: nil, Self.legacyHeaders(version, session),
            limit: MCPExchange.callLimit)
        remember(.legacy(version: version, session: session), for: target.server.url)
        return (version, session)
    }

    private func askLegacy(
        _ target: Target, _ method: String, _ params: [String: JSONValue], _ version: String, _ session: String?,
        limit: Int
    ) async throws -> JSONValue {
        let id = nextID()
        let body = MCPWire.message(method, .object(params), id: id)
        return try result(
            of: await exchange(target).post(body, id: id, Self.legacyHeaders(version, session), limit: limit))
    }

    private static func legacyHeaders(_ version: String, _ session: String?) -> [(name: String, value: String)] {
        [(MCPWire.versionHeader, version)] + (session.map { [(MCPWire.sessionHeader, $0)] } ?? [])
    }

    /// The session that a request named is no longer known: 404, and 400 from servers that were started again.
    private func isForgotten(_ error: any Error, _ session: String?) throws -> Bool {
        guard session != nil, let failure = error as? MCPFailure else { return false }
        switch failure.kind {
        case .status(let status): return status == 404 || status == 400
        // Servers of the Python SDK say "Session not found" so.
        case .error(let code, _): return code == -32_600 || code == -32_001
        default: return false
        }
    }
}
