/// What Plivo says of the servers that it streams to.
extension PlivoDialect {
    private static let reference =
        "https://www.plivo.com/docs/voice-agents/audio-streaming/concepts/audio-streaming-reference"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["event"]
        shape.soundPath = "media.payload"
        shape.streamIDPath = "streamId"
        shape.announcedID = { $0.name == "start" ? $0.json?["start.streamId"]?.text : nil }
        shape.format = { message in
            guard message.name == "start", let format = message.json?["start.mediaFormat"] else { return nil }
            return PlivoFormat.named(
                format["encoding"]?.text ?? "", rate: format["sampleRate"]?.numeral.flatMap { Int(exactly: $0) })
        }
        let id = FieldShape("streamId", .text)
        shape.messages = [
            MessageShape(
                "playAudio", FieldShape("media.contentType", .oneOf(["audio/x-mulaw", "audio/x-l16"])),
                FieldShape("media.sampleRate", .numeral), FieldShape("media.payload", .text)),
            MessageShape("checkpoint", id, FieldShape("name", .text)),
            MessageShape("clearAudio", id),
            MessageShape("sendDTMF", FieldShape("dtmf", .text)),
            // plivo-labs/agent-transport
            MessageShape("muteStream"), MessageShape("unmuteStream"),
        ]
        return DialectConformance(
            source: reference, shape: shape,
            rules: [
                .message(
                    "content-type", "playAudio's contentType and sampleRate are those of the stream.", reference
                ) { message, context in
                    guard message.name == "playAudio", let media = message.json?["media"],
                        let rate = media["sampleRate"]?.numeral, let type = media["contentType"]?.text,
                        let format = context.format
                    else { return .other }
                    let isRight = type == PlivoFormat.encoding(of: format) && rate == Double(format.sampleRate)
                    return isRight ? .right : .wrong("media is not in the format of start.mediaFormat")
                },
                .message("digits", "sendDTMF has digits, * and #.", reference) { message, _ in
                    guard message.name == "sendDTMF", let digits = message.json?["dtmf"]?.text else { return .other }
                    let isRight = !digits.isEmpty && digits.allSatisfy { TelephoneEvent.digits.contains($0) }
                    return isRight ? .right : .wrong("dtmf has what is no digit")
                },
            ],
            unknown: #"{"event":"trunkline-check","sequenceNumber":0}"#)
    }
}
