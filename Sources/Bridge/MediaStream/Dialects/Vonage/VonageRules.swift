internal import Net

/// What Vonage says of the servers that it streams to.
extension VonageDialect {
    private static let guide = "https://developer.vonage.com/en/voice/voice-api/concepts/websockets"
    /// Messages that Vonage keeps until they are played.
    private static let bufferedMessages = 1_024

    public static var conformance: DialectConformance {
        var shape = WireShape()
        // A server's, and a carrier's.
        shape.nameKeys = ["action", "event"]
        shape.format = { message in
            guard message.sender == .carrier, let type = message.json?["content-type"]?.text,
                let rate = rate(type)
            else { return nil }
            return WireFormat(.linear16(.little), sampleRate: rate)
        }
        shape.messages = [MessageShape("clear"), MessageShape("notify", FieldShape("payload", .object))]
        return DialectConformance(
            source: guide, shape: shape,
            rules: [
                .message("frame-size", "A binary message holds exactly 20 ms of sound.", guide) { message, context in
                    guard message.kind == .binary, message.size > 0, let format = context.format else { return .other }
                    let wanted = format.bytes(ofMs: messageMs)
                    return message.size == wanted ? .right : .wrong("\(message.size) bytes, not \(wanted)")
                },
                .stream(
                    "buffer", "No more than \(bufferedMessages) messages of sound wait to be played.", guide
                ) { facts in
                    guard facts.longestAheadMs > 0 else { return .notSeen("the server did not speak") }
                    let seen = "sound was at most \(facts.longestAheadMs) ms ahead"
                    return facts.longestAheadMs <= UInt64(bufferedMessages * messageMs) ? .pass(seen) : .fail(seen)
                },
            ],
            unknown: #"{"event":"websocket:trunkline-check"}"#)
    }
}
