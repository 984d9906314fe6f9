internal import Foundation
internal import Net

/// We are the server: what the client of Genesys Cloud says, and what it is told.
extension GenesysDialect {
    private struct Open: Decodable {
        struct Participant: Decodable {
            var id: String?
            var ani: String?
            var dnis: String?
        }
        var organizationId: String?
        var conversationId: String
        var participant: Participant?
        var media: [GenesysMedia]
        var language: String?
        var customConfig: [String: GenesysValue]?
        var inputVariables: [String: GenesysValue]?

        /// Of a test of the connection.
        var isProbe: Bool {
            conversationId == GenesysMedia.nullID && (participant?.id ?? conversationId) == GenesysMedia.nullID
        }

        /// Custom data: the integration's, then the flow's, then what Genesys says of the call.
        var parameters: [String: String] {
            var all: [String: String] = [:]
            for values in [customConfig, inputVariables] {
                for (name, value) in values ?? [:] { if let text = value.text { all[name] = text } }
            }
            if let ani = participant?.ani, !ani.isEmpty { all["from"] = ani }
            if let dnis = participant?.dnis, !dnis.isEmpty { all["to"] = dnis }
            if let organizationId { all["organizationId"] = organizationId }
            if let language { all["language"] = language }
            return all
        }
    }

    func client(_ envelope: GenesysEnvelope, into inbox: DialectInbox) throws(MediaStreamError) {
        if envelope.isType("open") { return try open(envelope, into: inbox) }
        if envelope.isType("close") { return close(into: inbox) }
        switch phase {
        case .open, .opening, .probed, .closing: break
        case .new: throw MediaStreamError("a message came before open")
        case .closed: throw MediaStreamError("a message came after close")
        }
        if envelope.isType("ping") { return inbox.reply(message("pong")) }
        if envelope.isType("update") { return inbox.reply(message("updated")) }
        if envelope.isType("dtmf") { return inbox.say(.dtmf(try envelope.digit())) }
        if envelope.isType("playback_started") { return inbox.playing(true) }
        if envelope.isType("playback_completed") { return inbox.playing(false) }
        if envelope.isType("paused") { return inbox.pause(!hasAskedPause) }
        let isResumed = envelope.isType("resumed")
        if isResumed || envelope.isType("discarded") {
            nextMs = try envelope.end()
            if isResumed { inbox.pause(false) }
            return
        }
        // 429 and the like: the stream goes on, or Genesys closes it.
        if envelope.isType("error") { throw MediaStreamError("the far end reports an error") }
    }

    private func open(_ envelope: GenesysEnvelope, into inbox: DialectInbox) throws(MediaStreamError) {
        guard phase == .new else { throw MediaStreamError("a second open") }
        let given = String(decoding: envelope.id, as: UTF8.self)
        guard GenesysMedia.isID(given) else { throw MediaStreamError("id is no UUID", refusal: .malformed) }
        name(given)
        guard let open = try? JSONDecoder().decode(Open.self, from: Data(envelope.parameters)) else {
            throw MediaStreamError("open.parameters are not those of this protocol", refusal: .malformed)
        }
        // As the reference does: one customer's key opens no other's session.
        guard organizationID == nil || organizationID == open.organizationId else {
            throw MediaStreamError("organizationId is not the upgrade's", refusal: .unauthorized)
        }
        let chosen = GenesysMedia.formats.first { format in open.media.contains { $0.format == format } }
        if let chosen {
            terms = GenesysMedia.terms(chosen, role)
            try inbox.agree(terms)
        }
        if open.isProbe {
            phase = .probed
            return inbox.reply(opened(chosen))
        }
        guard chosen != nil else {
            throw MediaStreamError("open.parameters.media has no format of ours", refusal: .format)
        }
        phase = .opening
        inbox.say(.start(StreamStart(streamID: id, callID: open.conversationId, parameters: open.parameters)))
    }

    private func close(into inbox: DialectInbox) {
        let hadCall = phase != .probed && phase != .closed
        if phase != .closed { inbox.reply(message("closed")) }
        phase = .closed
        if hadCall { inbox.say(.stop) }
    }

    private func opened(_ format: WireFormat?) -> [UInt8] {
        let media = format.map { GenesysMedia($0).text } ?? ""
        return message("opened", #"{"startPaused":false,"media":[\#(media)]}"#)
    }

    /// The results for the flow: texts, as many as there is room for.
    private var outputVariables: String {
        var room = Self.outputBytes
        let kept = results.sorted { $0.key < $1.key }.filter { name, value in
            let bytes = name.utf8.count + value.utf8.count + 8
            guard bytes <= room else { return false }
            room -= bytes
            return true
        }
        guard !kept.isEmpty,
            let data = try? JSONSerialization.data(
                withJSONObject: Dictionary(kept, uniquingKeysWith: { $1 }),
                options: [.sortedKeys, .withoutEscapingSlashes])
        else { return "" }
        return #","outputVariables":"# + String(decoding: data, as: UTF8.self)
    }

    /// What an application says; nil: there is no word for it, or not now.
    func answer(_ said: MediaStreamMessage) -> [UInt8]? {
        switch said {
        case .start where phase == .opening:
            phase = .open
            return opened(terms.incoming)
        case .clear where phase == .open:
            return message("event", #"{"entities":[{"type":"barge_in","data":{}}]}"#)
        case .stop where phase == .open || phase == .opening:
            phase = .closing
            return message("disconnect", #"{"reason":"completed"\#(outputVariables)}"#)
        case .start, .clear, .stop, .connected, .media, .dtmf, .mark: return nil
        }
    }
}
