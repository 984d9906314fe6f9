internal import Bridge
internal import Foundation
internal import Net
internal import Pipeline
internal import Realtime

/// A conversation over somebody else's leg. Lives as long as its stream; an actor of the stream's loop.
actor StreamedCall: CarriedConversation, GraphCall {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    /// Of the call's record; nil for a stream that belongs to none, which then has a journal of its own.
    private let attempt: CallJournal?
    private let providerCallID: String
    private(set) var host: ConversationHost?

    /// - Parameter providerCallID: as the stream told it, e.g. Twilio's `CallSid`.
    init(
        loop: EventLoop, call: Call, providerCallID: String, line: CallLine, settings: CallSettings,
        journal: CallJournal?
    ) {
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings
        self.providerCallID = providerCallID
        attempt = journal
    }

    /// - Parameter ended: called once, when the conversation is over and its stream has been closed.
    func run(_ stream: Confined<any MediaStream>, ended: @escaping @Sendable (EndReason) -> Void = { _ in }) {
        let journal =
            attempt
            ?? CallJournal(
                call, carrier: TwilioREST.isSID(providerCallID) ? "twilio" : "stream", store: line.store,
                settings: settings, logger: line.logger,
                now: { Date() })
        if attempt == nil { journal.insert(call) } else { journal.connected() }
        let host = ConversationHost(
            loop: loop, call: call, line: line, settings: settings, journal: journal,
            carrier: .init(
                transfers: { [weak self] choice in self?.assumeIsolated { $0.redirect(choice) } ?? false },
                canTransfer: twiML(.anybody) != nil))
        self.host = host
        host.start(stream.value) { [weak self] reason in
            self?.assumeIsolated { $0.close(stream, journal) { ended(reason) } }
        }
        graph?.streamStarted()
        line.calls.add(call.id, self)
    }

    func hangUp(_ reason: EndReason) { graph?.finish(reason) }

    func answeringMachine() { graph?.answeringMachine() }

    /// What Twilio is to do with a call that is handed to an operator; nil where it does not carry this one.
    private func twiML(_ choice: TransferChoice) -> String? {
        let number: String? =
            switch choice {
            case .anybody: settings.operatorNumber
            case .number(let number): number
            case .operator(let id): line.operators?.with(id: id)?.address
            }
        guard let twilio = line.twilio, TwilioREST.isSID(providerCallID), let number else { return nil }
        let language = LanguageTag.primary(call.brief.language)
        return TwiML.dial(
            number, callerID: Routing.normalize(call.localNumber), ringSeconds: Int(settings.ringTimeout),
            next: "\(twilio.publicURL)/twilio/transferred?language=\(language)")
    }

    /// Twilio takes the call from our stream and dials. False: it cannot.
    private func redirect(_ choice: TransferChoice) -> Bool {
        guard let twilio = line.twilio, let twiML = twiML(choice) else { return false }
        Task {
            do {
                // The stream may be gone before the answer is here.
                host?.transfer.carrier(.accepted)
                _ = try await twilio.rest.redirect(providerCallID, to: twiML)
            } catch { host?.transfer.carrier(.failed("\(error)")) }
        }
        return true
    }

    private func close(
        _ stream: Confined<any MediaStream>, _ journal: CallJournal, _ ended: @escaping @Sendable () -> Void
    ) {
        // The carrier plays what it has; the close ends the stream (and, at Twilio, goes on with the TwiML).
        host?.close()
        host = nil
        stream.value.close()
        let isOwn = attempt == nil
        let id = call.id
        Task { [line] in
            if isOwn { await journal.close() }
            // Only now: a shutdown waits until nothing is left here.
            line.calls.remove(id)
            ended()
        }
    }
}
