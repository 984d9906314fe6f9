internal import Bridge
internal import Foundation
internal import Logging
internal import Net

// What the domain says to SIP legs.

extension CallSettings {
    /// Of a leg of ours.
    func leg(on network: any DatagramNetwork, acceptsReferrals: Bool = false) -> SIPLeg.Settings {
        SIPLeg.Settings(
            rtpHost: rtpHost, rtpPorts: rtpPorts, requiresSRTP: srtp == .required, acceptsReferrals: acceptsReferrals,
            network: network)
    }
}

extension CallLine {
    /// Milliseconds that the answer to a BYE, which belongs to a call's messages, may take.
    private static let traceDelayMs = 500

    /// Stores the SIP messages of a call that is over.
    /// - Parameter callIDs: of the dialogs that came to us; those of our own INVITEs hold the call's id.
    func keepTrace(of callID: String, callIDs: Set<String>, since: Date) {
        Task {
            try? await Task.sleep(for: .milliseconds(Self.traceDelayMs))
            let messages = userAgent.trace.messages(of: callIDs, holding: callID).filter { $0.at >= since }
            do { try await store.appendTrace(messages, to: callID) } catch {
                logger.error("the SIP messages of a call cannot be kept: \(error)", metadata: ["call": "\(callID)"])
            }
        }
    }
}

extension Invitation {
    /// - Parameter from: as From has it, with its tag.
    init(to route: Routing.SIPRoute, from: String, callID: String, headers: [(name: String, value: String)]) {
        self.init(
            requestURI: route.requestURI, from: from, to: "<\(route.requestURI)>", callID: callID, proxy: route.proxy,
            headers: headers, credentials: route.credentials)
    }
}

extension Call.MediaFigures {
    /// nil: the leg has no media.
    init?(_ leg: SIPLeg?) {
        guard let leg, let counted = leg.statistics else { return nil }
        self.init()
        let dropped = leg.dropped
        if dropped.caller > 0 { unsent = dropped.caller }
        if dropped.stream > 0 { refused = dropped.stream }
        received = counted.received
        sent = counted.sent
        lost = counted.lost
        late = counted.late
        concealed = counted.concealed
        let tenths = { (value: Double) in (value * 10).rounded() / 10 }
        jitterMs = tenths(counted.jitterMs)
        roundTripMs = counted.roundTripMs.map(tenths)
        opinionScore = counted.opinionScore.map { ($0 * 100).rounded() / 100 }
    }
}

/// Display names in SIP headers (RFC 3261 §25.1 quoted-string).
enum UserAgentText {
    static func quoted(_ name: String) -> String {
        let safe = name.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }.prefix(64)
        guard !safe.isEmpty else { return "" }
        let escaped = String(String.UnicodeScalarView(safe)).replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped)\" "
    }
}
