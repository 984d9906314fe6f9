internal import Net

/// The rules that hold in every dialect. What differs is in its traits and its shape.
enum CommonRules {
    private static let webSocket = "https://www.rfc-editor.org/rfc/rfc6455"

    static func all(of dialect: any MediaStreamDialect.Type) -> [ConformanceRule] {
        let declared = dialect.conformance
        return connection(declared) + signature(dialect.traits, declared) + messages(dialect.traits, declared)
            + sound(dialect.traits, declared) + conversation(declared) + end(declared)
    }

    // MARK: The connection

    private static func connection(_ declared: DialectConformance) -> [ConformanceRule] {
        [
            .stream("upgrade", "The server answers the upgrade with 101.", webSocket + "#section-4.2.2") { facts in
                if facts.unreachable != nil { return .notSeen("there was no answer") }
                if let status = facts.refusedStatus { return .fail("the upgrade was refused with HTTP \(status)") }
                if let failure = facts.failure { return .fail("no WebSocket came about: \(failure)") }
                return .pass("the WebSocket was open after \(facts.upgradeMs) ms")
            },
            .stream(
                "subprotocol", "The server chooses a subprotocol that was offered, or none.",
                webSocket + "#section-4.2.2"
            ) { facts in
                guard facts.startedMs != nil else { return .notSeen("there was no WebSocket") }
                let offered = facts.offered.joined(separator: ", ")
                guard let chosen = facts.chosen else {
                    return offered.isEmpty
                        ? .pass("none was offered and none was chosen")
                        : .pass("\(offered) was offered, none was chosen")
                }
                return facts.offered.contains(chosen)
                    ? .pass("\(chosen) was offered and chosen")
                    : .fail(
                        "a subprotocol was chosen that was not offered (\(offered.isEmpty ? "none was" : offered))")
            },
            .stream(
                "let-in", "The server takes up the stream that the carrier begins.", declared.source
            ) { facts in
                guard let started = facts.startedMs else {
                    return facts.closedMs == nil
                        ? .notSeen("there was no stream") : .fail("the server closed before the stream began")
                }
                guard !facts.isLetIn else { return .pass("the connection stayed open") }
                let closed = facts.closedMs ?? started
                return .fail(
                    "the server closed the connection with \(facts.closeCode ?? 0) "
                        + "\(closed - min(closed, started)) ms after the stream began")
            },
            .stream("wrong-token", "A stream with a wrong token gets no conversation.", declared.source) {
                trial($0.wrongToken, "token", "--token")
            },
            .stream("no-token", "A stream without a token gets no conversation.", declared.source) {
                trial($0.noToken, "token", "--token")
            },
            .stream("ping", "The server answers pings with pongs.", webSocket + "#section-5.5.3") { facts in
                if facts.pongs > 0 { return .pass("\(facts.pongs) of \(facts.pings) pings were answered") }
                let asked = facts.pings > 1
                return asked ? .fail("none of \(facts.pings) pings was answered") : .notSeen("no time for a ping")
            },
        ]
    }

    /// Where the carrier signs its upgrades.
    private static func signature(_ traits: DialectTraits, _ declared: DialectConformance) -> [ConformanceRule] {
        guard traits.sign != nil else { return [] }
        return [
            .stream("wrong-signature", "A stream with a wrong signature gets no conversation.", declared.source) {
                trial($0.wrongSignature, "secret", "--secret")
            },
            .stream("no-signature", "A stream without a signature gets no conversation.", declared.source) {
                trial($0.noSignature, "secret", "--secret")
            },
        ]
    }

    private static func trial(_ trial: StreamFacts.Trial?, _ what: String, _ option: String) -> Finding {
        switch trial {
        case nil: .notSeen("no \(what) was given to the kit (\(option))")
        case .refused(let status): .pass("the upgrade was refused with HTTP \(status)")
        case .closed(let code, let ms): .pass("the connection was closed with \(code) after \(ms) ms")
        case .talked: .fail("the server spoke to it")
        case .stayedOpen(let ms): .fail("the stream was still open after \(ms) ms")
        case .failed(let why): .notSeen("there was no answer to the upgrade: \(why)")
        }
    }

    // MARK: Messages

    private static func messages(_ traits: DialectTraits, _ declared: DialectConformance) -> [ConformanceRule] {
        let shape = declared.shape
        var rules: [ConformanceRule] = []
        if traits.accepts.count == 1, let kind = traits.accepts.first {
            rules.append(
                .message("message-kind", "Every message is \(kind).", declared.source) { message, _ in
                    message.kind == kind ? .right : .wrong("\(message.size) bytes of another kind")
                })
        }
        if shape.text != .free {
            let form = shape.text == .json ? "a JSON object" : "a JSON object or a line that begins with a name"
            rules.append(
                .message("text-form", "A text message is \(form).", declared.source) { message, _ in
                    guard message.kind == .text else { return .other }
                    if let json = message.json { return json.isObject ? .right : .wrong("JSON that is no object") }
                    return shape.text == .jsonOrLine && message.name != nil ? .right : .wrong("not JSON (RFC 8259)")
                })
        }
        guard !shape.messages.isEmpty else { return rules }
        let known = Dictionary(shape.messages.map { ($0.name, $0.fields) }, uniquingKeysWith: { $1 })
        let names = shape.messages.map(\.name).joined(separator: ", ")
        rules += [
            .message("message-name", "A server says: \(names).", declared.source) { message, _ in
                guard message.kind == .text, message.json?.isObject == true || message.name != nil else {
                    return .other
                }
                guard let name = message.name else {
                    return .wrong("it has no member \(shape.nameKeys.joined(separator: " or "))")
                }
                return known[name] == nil ? .wrong("no message has this name") : .right
            },
            .message("fields", "A message has the members that the vendor lists.", declared.source) { message, _ in
                guard let name = message.name, let fields = known[name], let json = message.json else { return .other }
                return .of(fields.lazy.compactMap { $0.problem(in: json) }.first)
            },
        ]
        guard let path = shape.streamIDPath else { return rules }
        rules.append(
            .message("stream-id", "\(path) is the id that the carrier announced.", declared.source) {
                message, context in
                guard let given = message.json?[path], let id = context.streamID else { return .other }
                return given == .text(id) ? .right : .wrong("\(path) is another stream's")
            })
        return rules
    }

    // MARK: Sound

    private static func sound(_ traits: DialectTraits, _ declared: DialectConformance) -> [ConformanceRule] {
        var rules: [ConformanceRule] = []
        if let path = declared.shape.soundPath {
            rules.append(
                .message("base64", "\(path) is Base64 (RFC 4648).", declared.source) { message, _ in
                    guard message.hasPayload else { return .other }
                    return message.sound == nil ? .wrong("\(path) is not Base64") : .right
                })
        }
        let understood = ConformanceRule.stream(
            "understood", "Our own codec of the dialect understands what the other rules allow.", declared.source
        ) {
            facts in
            guard facts.misunderstood > 0 else {
                return facts.heard.isEmpty && facts.firstSoundMs == nil
                    ? .notSeen("the server sent nothing") : .pass("all of it was understood")
            }
            return .fail("\(facts.misunderstood) messages were not: \(facts.misunderstoodReason ?? "")")
        }
        // Without messages that are declared no format is known.
        guard declared.shape.text != .free else { return rules + [understood] }
        rules += [
            .message("sound-order", "No sound comes before the format is settled.", declared.source) {
                message, context in
                guard message.sound != nil else { return .other }
                return context.format == nil ? .wrong("sound before that") : .right
            },
            .message("whole-samples", "A message holds whole samples, and at least one.", declared.source) {
                message, context in
                guard let sound = message.sound, let format = context.format else { return .other }
                if sound.isEmpty { return .wrong("no sound in it") }
                return sound.count % format.sampleBytes == 0 ? .right : .wrong("\(sound.count) bytes, half a sample")
            },
            .stream("encoding", "Sound is in the format that was announced, without a header.", declared.source) {
                $0.look.finding ?? .notSeen("too little sound was heard")
            },
            understood,
        ]
        return rules
    }

    // MARK: The conversation

    private static func conversation(_ declared: DialectConformance) -> [ConformanceRule] {
        var rules: [ConformanceRule] = [
            .stream("silence", "A caller who is silent is no reason to close.", declared.source) {
                tolerated(.silence, $0)
            },
            .stream("dtmf", "A digit of the caller is no reason to close.", declared.source) { tolerated(.dtmf, $0) },
            .stream(
                "barge-in", "When the caller speaks, the server drops what has not been played.", declared.source
            ) { facts in
                switch facts.bargeIn {
                case .notTried: .notSeen("the server did not speak")
                case .cleared(let ms): .pass("it cleared \(ms) ms after the caller began to speak")
                case .fellSilent(let ms):
                    .notSeen("it fell silent after \(ms) ms without a word: it may have been at its end")
                case .spokeOn(let ms): .fail("it spoke on for \(ms) ms over the caller's voice")
                }
            },
        ]
        guard declared.unknown != nil else { return rules }
        rules.append(
            .stream("unknown-message", "A message with an unknown name is left out.", declared.source) {
                tolerated(.unknown, $0)
            })
        return rules
    }

    private static func tolerated(_ probe: StreamFacts.Probe, _ facts: StreamFacts) -> Finding {
        guard facts.probes[probe] != nil, facts.isLetIn else { return .notSeen("the stream ended before") }
        guard facts.brokenBy == probe else { return .pass("the stream went on") }
        let code = facts.closeCode ?? 0
        return code == 1_000
            ? .notSeen("the server ended the stream with 1000 just then")
            : .fail("the server closed the connection with \(code)")
    }

    // MARK: The end

    private static func end(_ declared: DialectConformance) -> [ConformanceRule] {
        [
            .stream(
                "carrier-ends", "When the carrier ends the stream, the connection closes with close frames both ways.",
                webSocket + "#section-7.1.4"
            ) { facts in
                guard let stopped = facts.stoppedMs ?? facts.weClosedMs, facts.askedMs == nil, !facts.gaveUp else {
                    return .notSeen("the server ended the stream before, or the kit gave it up")
                }
                guard let closed = facts.closedMs else { return .fail("the close frame was not answered") }
                let late = facts.soundAfterStop > 0 ? "; it spoke on until then" : ""
                guard let weClosed = facts.weClosedMs else {
                    let ms = closed - min(closed, stopped)
                    return .pass("the server closed with \(facts.closeCode ?? 0) after \(ms) ms")
                }
                let ms = closed - min(closed, weClosed)
                return ms <= StreamCheck.closeLimitMs
                    ? .pass("the server left closing to the carrier and answered in \(ms) ms\(late)")
                    : .fail("the close frame was not answered within \(StreamCheck.closeLimitMs) ms")
            },
            .stream(
                "server-ends",
                "The server ends a stream with a close frame, code 1000 or 1001, or by a message for it.",
                webSocket + "#section-7.4.1"
            ) { facts in
                if facts.askedMs != nil { return .pass("the server asked for the end by a message") }
                guard facts.wasClosedByFarEnd, facts.isLetIn, let code = facts.closeCode else {
                    return .notSeen("the server did not end the stream")
                }
                if facts.brokenBy != nil { return .notSeen("it closed at a test of the kit's") }
                if declared.asksToEnd {
                    return .fail("it closed with \(code) without the message that asks for the end")
                }
                return [1_000, 1_001, 1_005].contains(code)
                    ? .pass("it closed with \(code)")
                    : .fail(code == 1_006 ? "it left without a close frame" : "it closed with \(code)")
            },
        ]
    }
}
