internal import Net

/// What Genesys says of the servers that it streams to.
extension GenesysDialect {
    private static let protocolPage = "https://developer.genesys.cloud/devapps/audiohook/protocol-reference"
    private static let session = "https://developer.genesys.cloud/devapps/audiohook/session-walkthrough"

    public static var conformance: DialectConformance {
        var shape = WireShape()
        shape.nameKeys = ["type"]
        shape.streamIDPath = "id"
        shape.announcedID = { $0.name == "open" ? $0.json?["id"]?.text : nil }
        shape.format = { message in
            guard message.sender == .application, message.name == "opened",
                case .list(let media)? = message.json?["parameters.media"], let first = media.first
            else { return nil }
            var channels = 1
            if case .list(let names)? = first["channels"] { channels = max(1, names.count) }
            let isLinear = first["format"]?.text == "L16"
            return isLinear
                ? WireFormat(.linear16(.little), channels: channels) : WireFormat(.muLaw, channels: channels)
        }
        let names = ["opened", "closed", "disconnect", "event", "pause", "pong", "reconnect", "resume", "updated"]
        shape.messages = names.map { name in
            var message = MessageShape(
                name, FieldShape("version", .oneOf(["2"])), FieldShape("id", .text), FieldShape("seq", .wholeNumber),
                FieldShape("clientseq", .wholeNumber), FieldShape("parameters", .object))
            if name == "disconnect" {
                message.fields.append(
                    FieldShape("parameters.reason", .oneOf(["completed", "unauthorized", "error"])))
            }
            if name == "opened" { message.fields.append(FieldShape("parameters.media", .list)) }
            if name == "event" { message.fields.append(FieldShape("parameters.entities", .list)) }
            return message
        }
        var declared = DialectConformance(source: protocolPage, shape: shape, rules: rules)
        declared.asksToEnd = true
        return declared
    }

    private static var rules: [ConformanceRule] {
        [
            .counting("sequence", "seq goes up by 1 with each message of the server.", protocolPage) {
                message, _, last in
                guard let given = message.json?["seq"]?.number else { return .other }
                defer { last = given }
                return given == (last ?? 0) + 1 ? .right : .wrong("seq does not follow the message before")
            },
            .message("client-sequence", "clientseq is the seq of a message that the client has sent.", protocolPage) {
                message, context in
                guard let given = message.json?["clientseq"]?.number,
                    let sent = context.lastOfCarrier?.json?["seq"]?.number
                else { return .other }
                return given >= 0 && given <= sent ? .right : .wrong("clientseq is none that was sent")
            },
            .message("media-choice", "opened chooses one of the media that open has offered.", session) {
                message, context in
                guard message.name == "opened", case .list(let chosen)? = message.json?["parameters.media"],
                    case .list(let offered)? = context.carrier["open"]?.json?["parameters.media"]
                else { return .other }
                guard chosen.count == 1 else { return .wrong("\(chosen.count) media were chosen, not one") }
                return offered.contains(chosen[0]) ? .right : .wrong("its media were not offered")
            },
            .stream("opened", "The server answers open with opened.", session) { facts in
                guard facts.startedMs != nil else { return .notSeen("there was no stream") }
                if facts.heard["opened"] != nil { return .pass("opened came") }
                return facts.gaveUp || !facts.isLetIn
                    ? .notSeen("the stream ended before") : .fail("opened did not come")
            },
            .message("pong", "clientseq of pong is the seq of the ping that it answers.", protocolPage) {
                message, context in
                guard message.name == "pong" else { return .other }
                guard let ping = context.carrier["ping"] else { return .wrong("there was no ping") }
                return message.json?["clientseq"] == ping.json?["seq"] ? .right : .wrong("clientseq is not the ping's")
            },
            .stream("closed", "The server answers close with closed.", session) { facts in
                guard facts.stoppedMs != nil || facts.askedMs != nil, facts.isLetIn, !facts.gaveUp else {
                    return .notSeen("the stream was not closed by close")
                }
                return facts.heard["closed"] != nil ? .pass("closed came") : .fail("closed did not come")
            },
            .message("size", "A binary message has at most 64 000 bytes, a text message 65 535.", protocolPage) {
                message, _ in
                let limit = message.kind == .binary ? soundLimit : textLimit
                return message.size <= limit ? .right : .wrong("\(message.size) bytes")
            },
        ]
    }
}
