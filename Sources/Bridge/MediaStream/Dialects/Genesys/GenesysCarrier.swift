internal import Foundation
internal import Net

/// We are the client, as Genesys Cloud is: what a server says, and what it is told.
extension GenesysDialect {
    private struct Opened: Decodable {
        var media: [GenesysMedia]
        var startPaused: Bool?
    }

    func server(_ envelope: GenesysEnvelope, into inbox: DialectInbox) throws(MediaStreamError) {
        guard phase != .new else { throw MediaStreamError("a message came before open") }
        if envelope.isType("disconnect") { return disconnected(envelope, into: inbox) }
        if envelope.isType("closed") {
            guard phase == .closing else { throw MediaStreamError("closed came without close") }
            phase = .closed
            return inbox.confirmEnd()
        }
        // What crossed our close means nothing any more.
        if phase == .closing || phase == .closed { return }
        if envelope.isType("opened") { return try opened(envelope, into: inbox) }
        guard phase == .open else { throw MediaStreamError("a message came before opened") }
        if envelope.isType("pong") {
            guard let ping, envelope.acknowledged == ping else { throw MediaStreamError("a pong without its ping") }
            self.ping = nil
        }
        if envelope.isType("event"), envelope.hasEntity("barge_in") { inbox.say(.clear) }
        if envelope.isType("pause") { pause(into: inbox) }
        if envelope.isType("resume") { resume(into: inbox) }
    }

    private func opened(_ envelope: GenesysEnvelope, into inbox: DialectInbox) throws(MediaStreamError) {
        guard phase == .opening else { throw MediaStreamError("a second opened") }
        guard let opened = try? JSONDecoder().decode(Opened.self, from: Data(envelope.parameters)) else {
            throw MediaStreamError("opened.parameters are not those of this protocol", refusal: .malformed)
        }
        guard opened.media.count == 1, let format = opened.media[0].format, offered.contains(format) else {
            throw MediaStreamError("opened.parameters.media is not one of those offered", refusal: .format)
        }
        terms = GenesysMedia.terms(format, role)
        try inbox.agree(terms)
        phase = .open
        if opened.startPaused == true { pause(into: inbox) }
        inbox.say(.start(StreamStart(streamID: id, callID: start.callID)))
    }

    private func pause(into inbox: DialectInbox) {
        if pausedAtMs == nil { pausedAtMs = inbox.timeMs }
        inbox.pause(true)
        inbox.reply(message("paused"))
    }

    private func resume(into inbox: DialectInbox) {
        let from = position
        if let pausedAtMs {
            let pausedMs = min(inbox.timeMs &- min(pausedAtMs, inbox.timeMs), GenesysMedia.longestMs)
            position &+= Int(pausedMs) * GenesysMedia.samplesPerMs
        }
        pausedAtMs = nil
        inbox.pause(false)
        let start = GenesysMedia.duration(ofSamples: from)
        let discarded = GenesysMedia.duration(ofSamples: position &- from)
        inbox.reply(message("resumed", #"{"start":"\#(start)","discarded":"\#(discarded)"}"#))
    }

    /// What its `outputVariables` mean is the flow's to say, and there is none here.
    private func disconnected(_ envelope: GenesysEnvelope, into inbox: DialectInbox) {
        guard phase != .closing, phase != .closed else { return }
        phase = .closing
        inbox.reply(message("close", #"{"reason":"disconnect"}"#))
        if envelope.hasReason("error") || envelope.hasReason("unauthorized") { inbox.fail() } else { inbox.say(.stop) }
    }

    func keepAlive() -> [UInt8] {
        guard ping == nil else {
            ping = nil
            return message("error", #"{"code":408,"message":"Timeout waiting for pong"}"#)
        }
        let text = message("ping")
        ping = sequence
        return text
    }

    /// What a carrier says; nil: there is no word for it, or not now.
    func report(_ said: MediaStreamMessage) -> [UInt8]? {
        switch said {
        case .start(let start) where phase == .new: return open(start)
        case .dtmf(let digit) where phase == .open: return message("dtmf", #"{"digit":"\#(digit)"}"#)
        case .stop where phase == .open || phase == .opening:
            phase = .closing
            return message("close", #"{"reason":"end"}"#)
        case .mark(let name):
            guard let number = Int(name), number > played, number <= received else { return nil }
            played = number
            guard played == received, isPlaying else { return nil }
            isPlaying = false
            return phase == .open ? message("playback_completed") : nil
        case .start, .dtmf, .stop, .connected, .media, .clear: return nil
        }
    }

    private func open(_ start: StreamStart) -> [UInt8]? {
        name(GenesysMedia.uuid(of: start.streamID))
        self.start = start
        let conversation = GenesysMedia.uuid(of: start.callID)
        var variables = start.parameters
        let (from, to) = (variables.removeValue(forKey: "from"), variables.removeValue(forKey: "to"))
        let object: [String: Any] = [
            "organizationId": GenesysMedia.organizationID, "conversationId": conversation,
            "participant": ["id": conversation, "ani": from ?? "", "aniName": "", "dnis": to ?? ""],
            "media": offered.map { GenesysMedia($0).object }, "inputVariables": variables,
        ]
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return nil }
        phase = .opening
        return message("open", String(decoding: data, as: UTF8.self))
    }
}
