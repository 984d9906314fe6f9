/// What Exotel says of the servers that it streams to.
extension ExotelDialect {
    private static let protocolPage = "https://developer.exotel.com/docs/agentstream/websocket-protocol"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["event"]
        shape.soundPath = "media.payload"
        shape.streamIDPath = "stream_sid"
        shape.idPrefixes = ("MZ", "CA")
        shape.announcedID = { $0.name == "start" ? $0.json?["stream_sid"]?.text : nil }
        shape.format = { message in
            guard message.name == "start", let format = message.json?["start.media_format"],
                let rate = format["sample_rate"]?.numeral.flatMap({ Int(exactly: $0) })
            else { return nil }
            return ExotelFormat.named(format["encoding"]?.text ?? "", rate: rate)
        }
        let id = FieldShape("stream_sid", .text)
        shape.messages = [
            MessageShape("media", id, FieldShape("media.payload", .text)),
            MessageShape("mark", id, FieldShape("mark.name", .text)),
            MessageShape("clear", id),
        ]
        return DialectConformance(
            source: protocolPage, shape: shape,
            rules: [
                .message("chunk-multiple", "A payload is a multiple of 320 bytes.", protocolPage) { message, _ in
                    guard let count = message.sound?.count, count > 0 else { return .other }
                    return count % ExotelFormat.multiple == 0
                        ? .right : .wrong("\(count) bytes are no multiple of \(ExotelFormat.multiple)")
                },
                .message(
                    "chunk-size", "A payload has 3.2 kB (100 ms) to 100 kB.", protocolPage
                ) { message, _ in
                    guard let count = message.sound?.count, count > 0 else { return .other }
                    return (ExotelFormat.leastBytes...ExotelFormat.mostBytes).contains(count)
                        ? .right : .wrong("\(count) bytes")
                },
            ],
            unknown: #"{"event":"trunkline-check","sequence_number":"0"}"#)
    }
}
