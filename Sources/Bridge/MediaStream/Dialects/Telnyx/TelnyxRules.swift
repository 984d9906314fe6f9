/// What Telnyx says of the servers that it streams to.
extension TelnyxDialect {
    private static let messages =
        "https://developers.telnyx.com/api-reference/websockets/stream-call-media-over-websocket"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["event"]
        shape.soundPath = "media.payload"
        shape.announcedID = { $0.name == "start" ? $0.json?["stream_id"]?.text : nil }
        shape.format = { message in
            guard message.name == "start", let format = message.json?["start.media_format"],
                let rate = format["sample_rate"]?.numeral.flatMap({ Int32(exactly: $0) })
            else { return nil }
            switch format["encoding"]?.text?.uppercased() {
            case "PCMU": return .muLaw8k
            case "PCMA": return .aLaw8k
            case "L16": return WireFormat(.linear16(.little), sampleRate: rate)
            default: return nil
            }
        }
        shape.messages = [
            MessageShape("media", FieldShape("media.payload", .text)),
            MessageShape("mark", FieldShape("mark.name", .text)),
            MessageShape("clear"),
        ]
        return DialectConformance(
            source: messages, shape: shape,
            rules: [
                .message("message-length", "A payload holds 20 ms to 30 s of sound.", messages) { message, context in
                    guard let count = message.sound?.count, count > 0, let ms = context.milliseconds(count) else {
                        return .other
                    }
                    return ms >= Double(smallestMs) && ms <= Double(largestMs)
                        ? .right : .wrong("\(count) bytes are \(Int(ms)) ms")
                }
            ],
            unknown: #"{"event":"trunkline-check","sequence_number":"0"}"#)
    }
}
