internal import Bridge
internal import Calls
internal import Net
internal import Store

/// `WS /api/outbound/{id}/listen`, and of calls that came in: both sides of a call in progress, in the standard
/// dialect of media streams (`Dialects.standard`) with both tracks: `connected`, `start`, `media` with `track`, `stop`.
///
/// Messages from the listener are ignored. A listener that reads too slowly misses frames; the call does not wait.
enum ListenSocket {
    /// The call that a path asks for.
    static func call(in path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "api", parts[4] == "listen" else { return nil }
        let id = String(parts[3])
        guard let direction = CallDirection(rawValue: String(parts[2])) else { return nil }
        return CallDirection(id: id) == direction ? id : nil
    }

    static func serve(
        _ socket: WebSocket, call: String, _ services: Routes.Services, _ principal: Principal,
        isAllowed: @escaping @Sendable () -> Bool
    ) {
        let loop = socket.loop
        let streamID = "MZ" + call.filter { $0 != "-" }
        let options = DialectOptions(role: .carrier, streamID: streamID, tracks: [.inbound, .outbound])
        guard let stream = try? WebSocketMediaStream(socket, dialect: Dialects.standard, options) else {
            return socket.close(code: 1011)
        }
        let far = Confined((socket: socket, stream: stream), to: loop)
        let listener = CallListener { heard in
            loop.post {
                switch heard {
                case .frame(let frame, let track):
                    far.value.stream.track = track
                    far.value.stream.send(.media(frame))
                case .ended:
                    far.value.stream.send(.stop)
                    far.value.stream.close()
                }
            }
        }
        socket.onOpen = {
            let (socket, stream) = far.value
            stream.send(.connected)
            stream.send(.start(StreamStart(streamID: streamID, callID: call)))
            let begun = Task {
                let isOwn = (try? await services.store(principal).call(call)) != nil
                guard isOwn, await services.dialler.listen(to: call, listener) else {
                    return loop.post { far.value.socket.close(code: 1008) }
                }
                await services.audit(principal, "call.listen", target: call)
            }
            let ticker = SocketWatch.begin(socket, isAllowed: isAllowed)
            stream.onClose = { _ in
                ticker.cancel()
                Task {
                    await begun.value
                    await services.dialler.stopListening(to: call, listener.id)
                }
            }
        }
    }
}
