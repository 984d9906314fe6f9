internal import CSofia
internal import Foundation

/// What the stack tells of its calls. All of it runs on the SIP thread.
extension UserAgent {
    func handle(_ event: csofia_event) {
        let id = Int(bitPattern: event.context)
        // Without a Contact there is nowhere to send anything within the call (RFC 3261 §8.1.1.8).
        let isHomeless = UInt32(event.kind) == CSOFIA_INCOMING.rawValue && event.contact == nil
        if event.is_unreadable != 0 || isHomeless, id == 0 {
            if UInt32(event.kind) == CSOFIA_INCOMING.rawValue, let call = event.call {
                csofia_respond(call, 400, nil, nil)
                return csofia_release(call)
            }
            if [CSOFIA_REGISTER.rawValue, CSOFIA_OPTIONS.rawValue].contains(UInt32(event.kind)) {
                return reply(SIPReply(400), to: event)
            }
        }
        switch UInt32(event.kind) {
        case CSOFIA_REGISTER.rawValue: return reply(handlers.register(registration(event)), to: event)
        case CSOFIA_OPTIONS.rawValue:
            return reply(
                handlers.options(
                    OptionsRequest(source: text(event.source), agent: event.agent.map { String(cString: $0) })),
                to: event)
        case CSOFIA_INCOMING.rawValue where id == 0: return incoming(event)
        default: break
        }
        guard let entry = calls[id] else { return }
        let sdp = event.sdp.map { String(cString: $0) }
        switch UInt32(event.kind) {
        case CSOFIA_RESPONSE.rawValue: response(event, entry, sdp)
        case CSOFIA_INCOMING.rawValue: entry.onEvent(.reoffer(sdp: sdp))
        case CSOFIA_UPDATE.rawValue: updated(event, entry, sdp)
        case CSOFIA_ACK.rawValue:
            let isFirst = entry.isIncoming && !entry.isAnswered
            entry.isAnswered = true
            if isFirst || sdp != nil { entry.onEvent(.acknowledged(sdp: sdp)) }
        case CSOFIA_CANCELLED.rawValue: entry.end(.cancelled)
        case CSOFIA_REFER.rawValue: referred(event, entry)
        case CSOFIA_REFERRED.rawValue:
            guard entry.acceptsReferrals, entry.isAnswered, let target = event.refer_to else {
                return reply(SIPReply(603), to: event)
            }
            reply(SIPReply(202), to: event)
            var referral = Referral(uri: String(cString: target), reference: event.reference)
            if let replaces = referral.replaces, let found = csofia_replaced(agent, replaces) {
                referral.replacesOurs = calls[Int(bitPattern: csofia_context(found))] != nil
                csofia_unreference(found)
            }
            entry.onEvent(.referralRequested(referral))
        case CSOFIA_ALIVE.rawValue, CSOFIA_REGISTERED.rawValue: answered(event, entry)
        case CSOFIA_NOTIFY.rawValue:
            // A status line and perhaps headers (RFC 3420).
            let fragment = event.body.map { String(cString: $0) } ?? ""
            guard fragment.hasPrefix("SIP/2.0 "), let status = Int(fragment.dropFirst(8).prefix(3)) else { return }
            entry.onEvent(.referral(status: status))
        case CSOFIA_BYE.rawValue: entry.end(.ended(byRemote: true))
        case CSOFIA_STATE.rawValue:
            // Of an incoming call the ACK tells, which may bring an answer of its own.
            if event.state == CSOFIA_STATE_READY.rawValue, !entry.isIncoming { entry.isAnswered = true }
            if event.state == CSOFIA_STATE_TERMINATED.rawValue {
                // Without a reason of its own by now: our BYE is done, or the transaction layer gave up.
                entry.end(
                    entry.isAnswered || entry.isIncoming
                        ? .ended(byRemote: false)
                        : .failed(
                            status: event.status > 0 ? Int(event.status) : 487, phrase: text(event.phrase),
                            retryAfterSeconds: nil))
                calls[id] = nil
                csofia_bind(entry.call, nil)
                csofia_release(entry.call)
            }
        default: break
        }
    }

    /// UPDATE (RFC 3311 §5.2): a session is refreshed, or the media change as by a re-INVITE.
    private func updated(_ event: csofia_event, _ entry: Entry, _ sdp: String?) {
        guard let sdp else { return reply(SIPReply(200), to: event) }
        guard !entry.isReoffering else { return reply(SIPReply(491), to: event) }
        // The offer of the INVITE is still to be answered, or an UPDATE before this one.
        guard entry.isAnswered, csofia_keep(agent, entry.call) == 0 else {
            return reply(SIPReply(500, [.init("Retry-After", "1")]), to: event)
        }
        entry.onEvent(.reoffer(sdp: sdp))
    }

    private func response(_ event: csofia_event, _ entry: Entry, _ sdp: String?) {
        let status = Int(event.status)
        if entry.isReoffering {
            switch status {
            case ..<200: return
            case 200..<300:
                entry.isReoffering = false
                return entry.onEvent(.reanswered(sdp: sdp))
            case 401, 407: if answerChallenge(entry) { return }
            default: break
            }
            entry.isReoffering = false
            return entry.onEvent(.reofferRefused(status: status))
        }
        switch status {
        case ..<101: break
        case 101..<200:
            entry.earlySDP = sdp ?? entry.earlySDP
            entry.onEvent(.progress(status: status, sdp: sdp))
        case 200..<300:
            guard !entry.isAnswered else { return }
            entry.isAnswered = true
            entry.challenges = 0
            if entry.isHangingUp {  // the 200 crossed our CANCEL
                csofia_bye(entry.call, nil)
            } else {
                entry.onEvent(.answered(sdp: sdp ?? entry.earlySDP))
            }
        case 401, 407:
            if answerChallenge(entry) { return }
            entry.end(.failed(status: status, phrase: text(event.phrase), retryAfterSeconds: nil))
        default:
            guard !entry.isAnswered else { return }
            entry.end(
                .failed(
                    status: status, phrase: text(event.phrase),
                    retryAfterSeconds: event.retry_after >= 0 ? Int(event.retry_after) : nil,
                    contact: (300..<400).contains(status) ? event.contact.map { String(cString: $0) } : nil))
        }
    }

    /// A response to OPTIONS or REGISTER of ours.
    private func answered(_ event: csofia_event, _ entry: Entry) {
        let status = Int(event.status)
        guard status >= 200 else { return }
        if status == 401 || status == 407, answerChallenge(entry) { return }
        if status < 300 { entry.challenges = 0 }
        entry.onAnswer?(status)
        if UInt32(event.kind) == CSOFIA_ALIVE.rawValue { forget(entry.dialog.id) }
    }

    /// False: we have no answer to the digest challenge of the event now being delivered.
    private func answerChallenge(_ entry: Entry) -> Bool {
        guard let credentials = entry.credentials, entry.challenges < Self.challengeLimit, !entry.isHangingUp else {
            return false
        }
        entry.challenges += 1
        return csofia_authenticate(agent, entry.call, credentials.user, credentials.password, credentials.realm) == 0
    }

    private func referred(_ event: csofia_event, _ entry: Entry) {
        let status = Int(event.status)
        switch status {
        case ..<200: break
        case 200..<300:
            // Taken, no more than that: a NOTIFY tells the end. Later challenges are of other requests.
            entry.challenges = 0
            entry.onEvent(.referral(status: 100))
        case 401, 407:
            if !answerChallenge(entry) { entry.onEvent(.referral(status: status)) }
        default: entry.onEvent(.referral(status: status))
        }
    }

    /// To a request outside a dialog, or a REFER within one; only while its event is being delivered.
    private func reply(_ reply: SIPReply, to event: csofia_event) {
        guard let call = event.call else { return }
        let headers = Self.headerLines(reply.headers.map { ($0.name, $0.value) })
        csofia_reply_now(agent, call, Int32(reply.status), headers.isEmpty ? nil : headers)
    }

    private func registration(_ event: csofia_event) -> Registration {
        let contacts = text(event.contacts).split(separator: "\n").map { line in
            let parts = line.split(separator: "\t", maxSplits: 1)
            return Registration.Contact(
                uri: String(parts.first ?? ""),
                expires: parts.count > 1 ? Int(parts[1]).flatMap { $0 < 0 ? nil : $0 } : nil)
        }
        return Registration(
            user: text(event.to_user), callID: text(event.call_id), sequence: event.cseq, contacts: contacts,
            expires: event.expires < 0 ? nil : Int(event.expires),
            authorization: event.authorization.map { String(cString: $0) },
            source: text(event.source), port: event.source_port, transport: text(event.transport),
            agent: event.agent.map { String(cString: $0) })
    }

    private func incoming(_ event: csofia_event) {
        guard let call = event.call else { return }
        let id = nextID()
        let dialog = Dialog(id: id, callID: text(event.call_id), transport: self)
        var incoming = IncomingCall(
            dialog: dialog, from: text(event.from_user), to: text(event.request_user),
            sdp: event.sdp.map { String(cString: $0) }, source: text(event.source))
        incoming.outboundID = event.outbound_id.map { String(cString: $0) }
        if event.body != nil { incoming.contentType = event.content_type.map { String(cString: $0) } }
        incoming.authorization = (event.authorization ?? event.proxy_authorization).map { String(cString: $0) }
        incoming.rejectsSDP = event.rejects_sdp != 0
        incoming.agent = event.agent.map { String(cString: $0) }
        incoming.assertedIdentity = event.asserted.map { String(cString: $0) }
        if let replaces = event.replaces {
            if let found = csofia_replaced(agent, replaces) {
                incoming.replaces = calls[Int(bitPattern: csofia_context(found))]?.dialog
                csofia_unreference(found)
            }
            incoming.replacesUnknown = incoming.replaces == nil
            // The Call-ID is random, and no other host has seen it yet.
            incoming.isFromOurselves = calls.values.contains {
                $0.isToOurselves && !$0.isAnswered && $0.dialog.callID == dialog.callID
            }
            incoming.replacesEarlyOnly = String(cString: replaces).lowercased().contains(";early-only")
        }
        csofia_bind(call, UnsafeMutableRawPointer(bitPattern: id))
        // In place before the owner can answer: commands come by `post`, after this event.
        let entry = Entry(call: call, dialog: dialog, credentials: nil, isIncoming: true, onEvent: { _ in })
        calls[id] = entry
        guard let owner = handlers.incoming(incoming) else {
            csofia_respond(call, 404, nil, nil)
            return
        }
        entry.onEvent = owner
    }

    private func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
}
