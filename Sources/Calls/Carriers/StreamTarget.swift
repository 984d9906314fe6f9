internal import Bridge
internal import Foundation
internal import Net

/// The other end of a leg that is streamed to another server: the call's own stream, or else `bridge.stream_url`, with
/// our token where its dialect looks for one, and signed where there is a secret for that.
struct StreamTarget: Sendable {
    let upgrade: StreamUpgrade
    let start: StreamStart
    let dialect: any MediaStreamDialect.Type
    private let format: WireFormat?

    /// nil: the call is not streamed anywhere.
    init?(of call: Call, _ settings: CallSettings, streamID: String, callID: String) {
        let bridge = settings.bridge
        guard let text = call.stream?.url ?? bridge.streamURL, var url = WebSocketURL(text) else { return nil }
        let own = call.stream
        dialect = own.flatMap { Dialects.named($0.dialect) } ?? bridge.dialect
        let isAsConfigured = dialect.traits.name == bridge.dialect.traits.name
        format = isAsConfigured ? bridge.streamFormat.flatMap { [dialect] in dialect.traits.format(named: $0) } : nil
        var start = StreamStart(
            streamID: streamID, callID: callID,
            parameters: (own?.parameters ?? [:]).merging(Self.parameters(of: call)) { $1 })
        var headers: [(String, String)] = dialect.headers(of: start).map { ($0.name, $0.value) }
        for (name, value) in (own?.headers ?? [:]).sorted(by: { $0.key < $1.key }) { headers.append((name, value)) }
        var query: [(name: String, value: String)] = []
        // Users who place calls may not learn it.
        if own == nil, let token = bridge.streamToken, let place = dialect.traits.tokens.first {
            place.put(token, parameters: &start.parameters, headers: &headers, query: &query)
        }
        if !query.isEmpty { url.path += (url.path.contains("?") ? "&" : "?") + HTTPForm.encode(query) }
        if let secret = own == nil ? bridge.streamSecret : own?.secret, let sign = dialect.traits.sign {
            headers += sign(SignedUpgrade(url, headers: headers.map { (name: $0.0, value: $0.1) }), secret)
                .map { ($0.name, $0.value) }
        }
        let isOurs = settings.routing.isBoundToLoopback && SocketAddress.isLoopback(url.host)
        upgrade = StreamUpgrade(
            url, headers: headers, subprotocols: dialect.traits.subprotocols,
            allowsPrivateAddresses: own == nil || bridge.allowsPrivateAddresses || isOurs)
        self.start = start
    }

    /// What the far end is told of the call.
    private static func parameters(of call: Call) -> [String: String] {
        var parameters = [call.direction.idName: call.id, "from": call.callerNumber, "to": call.calledNumber]
        if let brief = try? JSONEncoder().encode(call.brief) {
            parameters["brief"] = String(decoding: brief, as: UTF8.self)
        }
        return parameters
    }

    /// With what we ask for in the upgrade: some dialects settle the format by the URL.
    var options: DialectOptions {
        let parts = upgrade.url.path.split(separator: "?", maxSplits: 1)
        let query = parts.count > 1 ? try? HTTPForm.decode(parts[1].utf8) : nil
        let handshake = WebSocket.Handshake(
            path: parts.first.map(String.init) ?? "/", query: query ?? [],
            headers: Dictionary(upgrade.headers.map { ($0.0.lowercased(), $0.1) }, uniquingKeysWith: { $1 }),
            peer: upgrade.url.host)
        return DialectOptions(role: .carrier, streamID: start.streamID, format: format, handshake: handshake)
    }

    /// - Throws: for a dialect whose sound cannot be converted.
    func stream(over socket: any MessageSocket) throws(MediaStreamError) -> WebSocketMediaStream {
        try WebSocketMediaStream(socket, dialect: dialect, options)
    }
}
