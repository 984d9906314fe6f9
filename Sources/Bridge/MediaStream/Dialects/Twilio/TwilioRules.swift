/// What Twilio says of the servers that it streams to.
extension TwilioDialect {
    private static let messages = "https://www.twilio.com/docs/voice/media-streams/websocket-messages"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["event"]
        shape.soundPath = "media.payload"
        shape.streamIDPath = "streamSid"
        shape.idPrefixes = ("MZ", "CA")
        shape.announcedID = { $0.name == "start" ? $0.json?["streamSid"]?.text : nil }
        shape.format = { $0.name == "start" ? .muLaw8k : nil }
        let id = FieldShape("streamSid", .text)
        shape.messages = [
            MessageShape("media", id, FieldShape("media.payload", .text)),
            MessageShape("mark", id, FieldShape("mark.name", .text)),
            MessageShape("clear", id),
        ]
        let known: [String: Set<String>] = [
            "media": ["event", "streamSid", "media"], "mark": ["event", "streamSid", "mark"],
            "clear": ["event", "streamSid"],
        ]
        return DialectConformance(
            source: messages, shape: shape,
            rules: [
                .message(
                    "no-other-members", "A message has no members beside its own: 31951 is the warning.",
                    "https://www.twilio.com/docs/api/errors/31951"
                ) { message, _ in
                    guard let own = message.name.flatMap({ known[$0] }), let json = message.json else { return .other }
                    let others = json.members.keys.filter { !own.contains($0) }
                    return others.isEmpty ? .right : .wrong("\(others.count) members are not the protocol's")
                },
                .message("mark-name", "A mark has a name that is not empty.", messages) { message, _ in
                    guard message.name == "mark", let name = message.json?["mark.name"]?.text else { return .other }
                    return name.isEmpty ? .wrong("mark.name is empty") : .right
                },
            ],
            unknown: #"{"event":"trunkline-check","sequenceNumber":"0"}"#)
    }
}
