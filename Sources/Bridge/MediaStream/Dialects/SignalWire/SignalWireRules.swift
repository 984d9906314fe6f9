/// What SignalWire says of the servers that it streams to.
extension SignalWireDialect {
    private static let reference = "https://signalwire.com/docs/compatibility-api/cxml/reference/voice/stream"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["event"]
        shape.soundPath = "media.payload"
        shape.streamIDPath = "streamSid"
        shape.announcedID = { $0.name == "start" ? $0.json?["start.streamSid"]?.text : nil }
        shape.format = { message in
            guard message.name == "start", let format = message.json?["start.mediaFormat"],
                let rate = format["sampleRate"]?.numeral.flatMap({ Int32(exactly: $0) })
            else { return nil }
            let isLinear = format["encoding"]?.text?.lowercased() == "audio/x-l16"
            return isLinear ? WireFormat(.linear16(.little), sampleRate: rate) : .muLaw8k
        }
        shape.messages = [
            MessageShape("media", FieldShape("media.payload", .text)),
            MessageShape("mark", FieldShape("mark.name", .text)),
            MessageShape("clear"),
            MessageShape(
                "dtmf", FieldShape("dtmf.digit", .text), FieldShape("dtmf.duration", .number, isRequired: false)),
        ]
        return DialectConformance(
            source: reference, shape: shape,
            rules: [
                .message("digit", "dtmf.digit is one of 0 to 9, *, # and A to D.", reference) { message, _ in
                    guard message.name == "dtmf", let digit = message.json?["dtmf.digit"]?.text else { return .other }
                    let isRight = digit.count == 1 && digit.allSatisfy { TelephoneEvent.digits.contains($0) }
                    return isRight ? .right : .wrong("dtmf.digit is no digit")
                }
            ],
            unknown: #"{"event":"trunkline-check"}"#)
    }
}
