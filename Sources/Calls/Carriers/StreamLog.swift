internal import Bridge
internal import Logging
internal import Net

/// What of a media stream is not as it must be, in the log: each thing once a stream, without what was said.
enum StreamLog {
    /// Codes with which a WebSocket of ours is closed for what came (RFC 6455 §7.4.1).
    private static let faults = [
        1_002: "breaks the protocol", 1_007: "sent no UTF-8", 1_009: "sent too large a message",
    ]

    /// What cannot be understood. As many things as messages are left out before a stream is given up.
    static func watch(_ stream: WebSocketMediaStream, _ logger: Logger) {
        let dialect = stream.dialectName ?? ""
        var told: Set<String> = []
        stream.onMalformed = { error in
            guard told.insert(error.reason).inserted else { return }
            logger.warning("a media stream (\(dialect)) sent what is not understood: \(error.reason)")
        }
    }

    /// What is wrong below the dialect. After the stream has been made.
    static func watch(_ socket: WebSocket, _ logger: Logger) {
        let closed = socket.onClose
        socket.onClose = { code, reason in
            if let fault = faults[code] { logger.warning("the WebSocket of a media stream \(fault)") }
            closed?(code, reason)
        }
    }
}
