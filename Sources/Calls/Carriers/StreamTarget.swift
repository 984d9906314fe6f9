internal import Bridge
internal import Net

/// The other end of a leg that is streamed to another server (`bridge.stream_url`, `bridge.stream_dialect`), with our
/// token where its dialect looks for one.
struct StreamTarget: Sendable {
    let url: WebSocketURL
    let headers: [(String, String)]
    let start: StreamStart
    private let dialect: any MediaStreamDialect.Type

    /// nil: `url` is no `ws:` or `wss:` URL.
    init?(_ url: String, _ settings: CallSettings, _ start: StreamStart) {
        guard var target = WebSocketURL(url) else { return nil }
        dialect = Dialects.named(settings.streamDialect) ?? Dialects.standard
        var start = start
        var headers: [(String, String)] = dialect.headers(of: start).map { ($0.name, $0.value) }
        var query: [(name: String, value: String)] = []
        if let token = settings.streamToken, let place = dialect.traits.tokens.first {
            place.put(token, parameters: &start.parameters, headers: &headers, query: &query)
        }
        if !query.isEmpty { target.path += (target.path.contains("?") ? "&" : "?") + HTTPForm.encode(query) }
        self.url = target
        self.headers = headers
        self.start = start
    }

    /// With what we ask for in the upgrade: some dialects settle the format by the URL.
    var options: DialectOptions {
        let parts = url.path.split(separator: "?", maxSplits: 1)
        let query = parts.count > 1 ? try? HTTPForm.decode(parts[1].utf8) : nil
        let handshake = WebSocket.Handshake(
            path: parts.first.map(String.init) ?? "/", query: query ?? [],
            headers: Dictionary(headers, uniquingKeysWith: { $1 }), peer: url.host)
        return DialectOptions(role: .carrier, streamID: start.streamID, handshake: handshake)
    }

    /// - Throws: for a dialect whose sound cannot be converted.
    func stream(over socket: WebSocket) throws(MediaStreamError) -> WebSocketMediaStream {
        try WebSocketMediaStream(socket, dialect: dialect, options)
    }
}
