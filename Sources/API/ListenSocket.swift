internal import Bridge
internal import Calls
internal import Net

/// `WS /api/outbound/{id}/listen`, and of calls that came in: both sides of a call in progress, as Twilio streams them with `tracks` `both_tracks`
/// (https://www.twilio.com/docs/voice/media-streams/websocket-messages): `connected`, `start`, `media` with `track`, `stop`.
///
/// What the listener sends is not read. Who takes nothing more misses frames; the call waits for nobody.
enum ListenSocket {
    /// Bytes that may wait for a listener: two seconds of both sides.
    private static let sendQueueLimit = 64 << 10

    /// The call that a path asks for.
    static func call(in path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "api", parts[4] == "listen" else { return nil }
        let id = String(parts[3])
        switch parts[2] {
        case "outbound" where !Call.isInbound(id): return id
        case "inbound" where Call.isInbound(id): return id
        default: return nil
        }
    }

    static func serve(
        _ socket: WebSocket, call: String, _ services: Routes.Services, _ principal: Principal, isAllowed: @escaping @Sendable () -> Bool
    ) {
        let loop = socket.loop
        let box = Confined(socket, to: loop)
        socket.configuration.sendQueueLimit = sendQueueLimit
        let streamID = "MZ" + call.filter { $0 != "-" }
        let tracks = Confined(
            [CallListener.Track.inbound: TwilioTrack(.inbound, streamSid: streamID), .outbound: TwilioTrack(.outbound, streamSid: streamID)], to: loop
        )
        let listener = CallListener { heard in
            loop.post {
                switch heard {
                case .frame(let frame, let track): tracks.value[track]?.send(frame, to: box.value)
                case .ended:
                    box.value.send(text: TwilioTrack.stop(streamSid: streamID))
                    box.value.close(code: 1000)
                }
            }
        }
        socket.onOpen = {
            box.value.send(text: TwilioTrack.connected)
            box.value.send(text: TwilioTrack.start(streamSid: streamID, callSid: call))
            let begun = Task {
                guard await services.dialler.listen(to: call, listener) else { return loop.post { box.value.close(code: 1008) } }
                await services.audit(principal, "call.listen", target: call)
            }
            let ticker = SocketWatch.begin(box.value, isAllowed: isAllowed)
            box.value.onClose = { _, _ in
                ticker.cancel()
                Task {
                    await begun.value
                    await services.dialler.stopListening(to: call, listener.id)
                }
            }
        }
    }
}
