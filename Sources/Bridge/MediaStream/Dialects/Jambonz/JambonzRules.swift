internal import Net

/// What jambonz says of the servers that its verb `listen` talks to.
extension JambonzDialect {
    private static let verb = "https://docs.jambonz.org/verbs/verbs/listen"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["type"]
        shape.announcedID = { $0.json?["callSid"]?.text }
        shape.format = { message in
            guard message.sender == .carrier, message.json?["callSid"] != nil,
                let rate = message.json?["sampleRate"]?.numeral.flatMap({ Int32(exactly: $0) })
            else { return nil }
            return WireFormat(.linear16(.little), sampleRate: rate)
        }
        shape.messages = [
            MessageShape(
                "playAudio", FieldShape("data.audioContent", .text),
                FieldShape("data.audioContentType", .oneOf(["raw", "wav"])),
                FieldShape("data.sampleRate", .numeral, isRequired: false)),
            MessageShape("killAudio"), MessageShape("disconnect"), MessageShape("clearMarks"),
            MessageShape("mark", FieldShape("data.name", .text)),
            // For the application that has the verb.
            MessageShape("transcription"), MessageShape("transfer"), MessageShape("json"), MessageShape("error"),
        ]
        return DialectConformance(
            source: verb, shape: shape,
            rules: [
                .message(
                    "streamed-sound", "With bidirectionalAudio.streaming sound is binary: playAudio is not played.",
                    "https://github.com/jambonz/freeswitch-modules/tree/main/mod_audio_fork"
                ) { message, _ in
                    if message.kind == .binary { return .right }
                    return message.name == "playAudio" ? .wrong("playAudio in a stream") : .other
                },
                .message("mark-name", "A mark has a name.", verb) { message, _ in
                    guard message.name == "mark", let name = message.json?["data.name"]?.text else { return .other }
                    return name.isEmpty ? .wrong("data.name is empty") : .right
                },
                .stream(
                    "chosen-subprotocol", "The server speaks the subprotocol audio.jambonz.org.",
                    "https://docs.jambonz.org/docs/webhooks/listen/"
                ) { facts in
                    guard facts.startedMs != nil, facts.offered != [] else { return .notSeen("none was offered") }
                    guard let chosen = facts.chosen else { return .fail("it chose none") }
                    return .pass("it chose \(chosen.printable.prefix(40))")
                },
            ],
            unknown: #"{"event":"trunkline-check"}"#)
    }
}
