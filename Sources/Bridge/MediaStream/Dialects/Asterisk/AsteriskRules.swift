internal import Net

/// What Asterisk says of the servers that its WebSocket channel talks to.
extension AsteriskDialect {
    /// Milliseconds for what is on its way.
    private static let graceMs: UInt64 = 1_000
    private static let page = "https://docs.asterisk.org/Configuration/Channel-Drivers/WebSocket/"

    /// A JSON member, or a `name:value` of a line.
    private static func value(_ name: String, _ message: WireMessage) -> String? {
        if let member = message.json?[name] {
            return member.text ?? member.number.flatMap { Int(exactly: $0) }.map { String($0) }
        }
        let field = message.rest?.split(separator: " ").first { $0.hasPrefix(name + ":") }
        return field.map { String($0.dropFirst(name.count + 1)) }
    }

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.text = .jsonOrLine
        shape.nameKeys = ["command", "event"]
        shape.announcedID = { $0.name == "MEDIA_START" ? value("connection_id", $0) : nil }
        shape.format = { message in
            guard message.name == "MEDIA_START" else { return nil }
            return value("format", message).flatMap { AsteriskFormat.named($0) }
        }
        let mark = FieldShape("correlation_id", .text, isRequired: false)
        shape.messages = [
            MessageShape("ANSWER"), MessageShape("HANGUP"), MessageShape("START_MEDIA_BUFFERING"),
            MessageShape("STOP_MEDIA_BUFFERING", mark), MessageShape("FLUSH_MEDIA"), MessageShape("PAUSE_MEDIA"),
            MessageShape("CONTINUE_MEDIA"), MessageShape("MARK_MEDIA", mark), MessageShape("GET_STATUS"),
            MessageShape("REPORT_QUEUE_DRAINED"),
            MessageShape("SET_MEDIA_DIRECTION", FieldShape("direction", .oneOf(["in", "out", "both"]))),
        ]
        return DialectConformance(
            source: page, shape: shape,
            rules: [
                .message("message-size", "A message has at most 65 500 bytes: more hangs the call up.", page) {
                    message, _ in
                    message.size <= messageLimit ? .right : .wrong("\(message.size) bytes")
                },
                .message("command-length", "A command has at most 128 bytes: a longer one is ignored.", page) {
                    message, _ in
                    guard message.kind == .text else { return .other }
                    return message.size <= commandLimit ? .right : .wrong("\(message.size) bytes")
                },
                .counting(
                    "whole-frames", "Without START_MEDIA_BUFFERING a message holds whole frames: a rest is dropped.",
                    page
                ) { message, context, buffering in
                    if message.name == "START_MEDIA_BUFFERING" { buffering = 1 }
                    if message.name == "STOP_MEDIA_BUFFERING" || message.name == "FLUSH_MEDIA" { buffering = nil }
                    guard message.kind == .binary, buffering == nil,
                        let start = context.carrier["MEDIA_START"],
                        let frame = value("optimal_frame_size", start).flatMap({ Int($0) }), frame > 0
                    else { return .other }
                    return message.size % frame == 0
                        ? .right : .wrong("\(message.size) bytes are no multiple of \(frame)")
                },
                .message(
                    "xoff", "After MEDIA_XOFF a server waits for MEDIA_XON: more than 1000 frames are dropped.", page
                ) {
                    message, context in
                    guard message.kind == .binary, let off = context.carrier["MEDIA_XOFF"] else { return .other }
                    if let on = context.carrier["MEDIA_XON"], on.number > off.number { return .other }
                    let late = message.atMs - min(message.atMs, off.atMs)
                    return late <= graceMs ? .right : .wrong("sound \(late) ms after MEDIA_XOFF")
                },
                .stream(
                    "chosen-subprotocol", "The server chooses the subprotocol that Asterisk offers.",
                    "https://docs.asterisk.org/Configuration/Channel-Drivers/WebSocket/#connection-types"
                ) { facts in
                    guard facts.startedMs != nil, facts.offered != [] else { return .notSeen("none was offered") }
                    guard let chosen = facts.chosen else { return .fail("it chose none") }
                    return .pass("it chose \(chosen.printable.prefix(40))")
                },
            ],
            unknown: #"{"event":"TRUNKLINE_CHECK"}"#)
    }
}
