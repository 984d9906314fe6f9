public import Net

/// The WebSockets of the API.
extension Routes {
    /// Whether a WebSocket may be opened: 0, or the status to refuse with.
    public func refusal(of request: HTTPRequest) -> Int {
        let call = ListenSocket.call(in: request.path)
        guard request.path == EventSocket.path || request.path == LevelSocket.path || call != nil else { return 404 }
        guard isOurs(host: request.headers["host"]) else { return 421 }
        guard let known = services.authenticator.principal(of: request) else { return 401 }
        let principal: Principal
        do throws(APIError) {
            principal = try CompanyChoice.acting(known, request.headers, services.companies)
        } catch { return error.status }
        if principal.isSession, !Authenticator.isSameOrigin(request) { return 403 }
        guard request.path == EventSocket.path ? EventSocket.accepts(request.query) : request.query.isEmpty else {
            return 422
        }
        return call == nil || principal.role >= .operator ? 0 : 403
    }

    public func open(_ socket: WebSocket) -> Bool {
        let handshake = socket.handshake
        let request = HTTPRequest(
            method: "GET", path: handshake.path, query: handshake.query, headers: handshake.headers,
            peer: handshake.peer)
        guard let known = services.authenticator.principal(of: request),
            let principal = try? CompanyChoice.acting(known, request.headers, services.companies)
        else { return false }
        let isAllowed: @Sendable () -> Bool = { [authenticator = services.authenticator] in
            authenticator.isCurrent(principal)
        }
        if let call = ListenSocket.call(in: handshake.path) {
            ListenSocket.serve(socket, call: call, services, principal, isAllowed: isAllowed)
            return true
        }
        if handshake.path == LevelSocket.path {
            LevelSocket.serve(socket, levels: services.levels, of: principal.company, isAllowed: isAllowed)
            return true
        }
        guard handshake.path == EventSocket.path else { return false }
        EventSocket.serve(socket, store: services.store(principal), isAllowed: isAllowed)
        return true
    }
}
