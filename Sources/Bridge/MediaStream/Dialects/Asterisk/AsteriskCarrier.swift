internal import Foundation
internal import Net

/// What waits to be played to the leg, as the channel driver counts it. The leg tells by marks of ours what it has
/// played.
struct AsteriskQueue {
    /// Frames: at the first the far end is told to wait, below the second to go on, from the third on sound is dropped.
    static let xoffLevel = 900
    static let xonLevel = 800
    static let limit = 1_000
    /// Marks of the far end's that wait.
    static let markLimit = 1_000
    /// Of the names of our own marks: behind so many frames, and at the end of a buffer. No command can hold them.
    static let framesPrefix: Character = "\u{1}"
    static let bufferPrefix: Character = "\u{2}"

    /// Frames that came, and that were played or dropped.
    var received = 0
    var played = 0
    /// Bytes that do not fill a frame.
    var loose = 0
    var isFull = false
    /// Between START_MEDIA_BUFFERING and STOP_MEDIA_BUFFERING.
    var isBuffering = false
    var reportsDrained = false
    /// SET_MEDIA_DIRECTION `in`: what comes is dropped.
    var dropsSound = false
    /// Marks that wait, and those that a flush has dropped, until the leg gives them back.
    var marks: [String] = []
    var flushed: [String] = []

    var length: Int { received - played }

    mutating func flush() {
        played = received
        isBuffering = false
        flushed = (flushed + marks).suffix(Self.markLimit)
        marks.removeAll()
    }
}

/// We are Asterisk: what an application says, and what it is told.
extension AsteriskDialect {
    // MARK: Decoding

    /// A binary message.
    func play(_ bytes: UnsafeBufferPointer<UInt8>, into inbox: DialectInbox) throws(MediaStreamError) {
        guard hasStarted else { throw MediaStreamError("sound came before MEDIA_START") }
        guard !queue.dropsSound, queue.length < AsteriskQueue.limit else { return }
        try inbox.sound(bytes)
        let size = terms.incoming.bytes(ofMs: 20)
        queue.loose += bytes.count
        let frames = queue.loose / size
        queue.loose %= size
        guard frames > 0 else { return }
        queue.received &+= frames
        inbox.say(.mark(String(AsteriskQueue.framesPrefix) + String(queue.received)))
        guard !queue.isFull, queue.length >= AsteriskQueue.xoffLevel else { return }
        queue.isFull = true
        inbox.reply(text("MEDIA_XOFF"))
    }

    func command(_ word: AsteriskWord, into inbox: DialectInbox) throws(MediaStreamError) {
        if word.isNamed("MARK_MEDIA") { return try mark(word.correlation ?? "", "", into: inbox) }
        if word.isNamed("FLUSH_MEDIA") { return flush(into: inbox) }
        if word.isNamed("ANSWER") {
            inbox.say(.start(StreamStart(streamID: connectionID, callID: channelID)))
        } else if word.isNamed("HANGUP") {
            inbox.say(.stop)
        } else if word.isNamed("START_MEDIA_BUFFERING") {
            queue.isBuffering = true
        } else if word.isNamed("STOP_MEDIA_BUFFERING") {
            queue.isBuffering = false
            try fillUp(into: inbox)
            try mark(word.correlation ?? "", String(AsteriskQueue.bufferPrefix), into: inbox)
        } else if word.isNamed("REPORT_QUEUE_DRAINED") {
            if queue.length > 0 { queue.reportsDrained = true } else { inbox.reply(text("QUEUE_DRAINED")) }
        } else if word.isNamed("GET_STATUS") {
            inbox.reply(status())
        } else if word.isNamed("SET_MEDIA_DIRECTION") {
            // The driver takes it in JSON alone.
            guard word.isJSON else {
                return inbox.reply(
                    text("ERROR", [("error_text", "SET_MEDIA_DIRECTION needs JSON")], namesChannel: true))
            }
            guard let direction = word.text("direction"), ["in", "out", "both"].contains(direction) else {
                throw MediaStreamError("SET_MEDIA_DIRECTION has no direction")
            }
            queue.dropsSound = direction == "in"
            inbox.pause(direction == "out")
        } else if word.isNamed("PAUSE_MEDIA") || word.isNamed("CONTINUE_MEDIA") {
            inbox.reply(text("ERROR", [("error_text", "Pausing is not supported")], namesChannel: true))
        }
        // Other commands are a later version's.
    }

    private func mark(_ id: String, _ prefix: String, into inbox: DialectInbox) throws(MediaStreamError) {
        guard id.utf8.allSatisfy({ $0 >= 0x20 }) else {
            throw MediaStreamError("a correlation_id has a control character")
        }
        guard queue.marks.count < AsteriskQueue.markLimit else { throw MediaStreamError("too many marks wait") }
        queue.marks.append(prefix + id)
        inbox.say(.mark(prefix + id))
    }

    private func flush(into inbox: DialectInbox) {
        queue.flush()
        inbox.say(.clear)
        if queue.isFull { inbox.reply(text("MEDIA_XON")) }
        if queue.reportsDrained { inbox.reply(text("QUEUE_DRAINED")) }
        (queue.isFull, queue.reportsDrained) = (false, false)
    }

    /// The end of a buffer: what does not fill a frame is filled up with silence.
    private func fillUp(into inbox: DialectInbox) throws(MediaStreamError) {
        guard queue.loose > 0 else { return }
        let format = terms.incoming
        let rest = [UInt8](repeating: format.silence, count: format.bytes(ofMs: 20) - queue.loose)
        queue.loose = 0
        queue.received &+= 1
        var failure: MediaStreamError?
        rest.withUnsafeBufferPointer { bytes in
            do throws(MediaStreamError) { try inbox.sound(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    // MARK: Encoding

    /// nil: there is no word for it, or nobody waits for it.
    func event(for message: MediaStreamMessage) -> [UInt8]? {
        switch message {
        case .start(let start): begin(start)
        case .dtmf(let digit) where hasStarted:
            text("DTMF_END", [("digit", String(digit)), ("channel_id", channelID)])
        case .mark(let name) where hasStarted: reached(name)
        case .dtmf, .mark, .connected, .media, .clear, .stop: nil
        }
    }

    private func begin(_ start: StreamStart) -> [UInt8]? {
        guard !hasStarted, let name = AsteriskFormat.name(of: terms.outgoing) else { return nil }
        connectionID = start.streamID
        channelID = start.callID
        hasStarted = true
        let channel = "WebSocket/" + connectionID, size = terms.outgoing.bytes(ofMs: 20)
        guard isJSON else {
            let line =
                "MEDIA_START connection_id:\(connectionID) channel:\(channel) channel_id:\(channelID) format:\(name) "
                + "optimal_frame_size:\(size) ptime:20"
            return Array(line.utf8)
        }
        return Self.json([
            "event": "MEDIA_START", "connection_id": connectionID, "channel": channel, "channel_id": channelID,
            "format": name, "optimal_frame_size": size, "ptime": 20, "channel_variables": start.parameters,
        ])
    }

    /// The leg has played what was before a mark.
    private func reached(_ name: String) -> [UInt8]? {
        if name.first == AsteriskQueue.framesPrefix {
            guard let frames = Int(name.dropFirst()) else { return nil }
            queue.played = min(max(queue.played, frames), queue.received)
            if queue.isFull, queue.length < AsteriskQueue.xonLevel {
                queue.isFull = false
                return text("MEDIA_XON")
            }
            guard queue.reportsDrained, queue.length == 0 else { return nil }
            queue.reportsDrained = false
            return text("QUEUE_DRAINED")
        }
        if let index = queue.flushed.firstIndex(of: name) {
            queue.flushed.remove(at: index)
            return nil
        }
        let index = queue.marks.firstIndex(of: name)
        if let index { queue.marks.remove(at: index) }
        if name.first == AsteriskQueue.bufferPrefix {
            guard index != nil else { return nil }
            return text("MEDIA_BUFFERING_COMPLETED", [("correlation_id", String(name.dropFirst()))])
        }
        return text("MEDIA_MARK_PROCESSED", [("correlation_id", name)])
    }

    private func status() -> [UInt8] {
        text(
            "STATUS",
            [
                ("queue_length", String(queue.length)), ("xon_level", String(AsteriskQueue.xonLevel)),
                ("xoff_level", String(AsteriskQueue.xoffLevel)), ("queue_full", String(queue.isFull)),
                ("bulk_media", String(queue.isBuffering)), ("media_paused", "false"),
            ], namesChannel: true)
    }

    /// An event in the form of the far end's last command.
    ///
    /// - Parameter namesChannel: in plain text, too.
    func text(_ event: String, _ members: [(name: String, value: String)] = [], namesChannel: Bool = false) -> [UInt8] {
        guard isJSON else {
            var text = namesChannel ? "\(event) channel_id:\(channelID)" : event
            for (name, value) in members {
                if name != "correlation_id" {
                    text += " \(name):\(value)"
                } else if !value.isEmpty {
                    text += " " + value
                }
            }
            return Array(text.utf8)
        }
        var object: [String: Any] = ["event": event, "channel_id": channelID]
        for (name, value) in members { object[name] = Self.scalar(value, of: name) }
        return Self.json(object) ?? []
    }

    /// Numbers and truths of STATUS stand without quotes.
    private static func scalar(_ value: String, of name: String) -> Any {
        if ["channel_id", "correlation_id", "digit", "error_text"].contains(name) { return value }
        return Int(value).map { $0 as Any } ?? (value == "true")
    }

    private static func json(_ object: [String: Any]) -> [UInt8]? {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
        return (try? JSONSerialization.data(withJSONObject: object, options: options)).map { Array($0) }
    }
}
