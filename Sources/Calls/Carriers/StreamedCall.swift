internal import Bridge
internal import Foundation
internal import Net
internal import Pipeline
internal import Realtime

/// A conversation over somebody else's leg. Lives as long as its stream; an actor of the stream's loop.
actor StreamedCall: CarriedConversation {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    /// Of an attempt of ours; nil for a call that came by itself, which then has a journal of its own.
    private let attempt: CallJournal?
    private let providerCallID: String
    private var graph: CallGraph?

    /// - Parameter providerCallID: as the stream told it, e.g. Twilio's `CallSid`.
    init(loop: EventLoop, call: Call, providerCallID: String, line: CallLine, settings: CallSettings, journal: CallJournal?) {
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
                call, carrier: TwilioREST.isSID(providerCallID) ? "twilio" : "stream", store: line.store, settings: settings, logger: line.logger,
                now: { Date() })
        if attempt == nil { journal.insert(call) } else { journal.connected() }
        let recording = journal.recordingName.flatMap { Recording.begin(in: settings.recordingsFolder, named: $0, for: journal) }
        let graph = CallGraph(
            loop: loop, stream: stream.value, modes: line.modes(call.brief.language, journal.usage), brief: call.brief,
            settings: settings.conversation(of: call, canTransfer: transferTwiML != nil), usage: journal.usage, recording: recording
        ) { [weak self] event in
            if case .transfer = event { self?.assumeIsolated { $0.transfer() } }
            guard let outcome = journal.took(event) else { return }
            journal.conversationEnded(outcome, reason: outcome.endReason)
            self?.assumeIsolated { $0.close(stream, journal) { ended(outcome.endReason) } }
        }
        self.graph = graph
        graph.start()
        graph.streamStarted()
        line.calls.add(
            call.outboundID,
            .init(hangUp: { reason in await self.hangUp(reason) }, say: { text in await self.say(text) }, edges: { await self.edges }))
    }

    func hangUp(_ reason: EndReason) { graph?.finish(reason) }

    func answeringMachine() { graph?.answeringMachine() }

    func say(_ text: String) -> Bool {
        graph?.say(text)
        return graph != nil
    }

    var edges: [EdgeReading] { graph?.edges ?? [] }

    /// What Twilio is to do with a call that is handed to an operator; nil where it does not carry this one.
    private var transferTwiML: String? {
        guard let twilio = line.twilio, TwilioREST.isSID(providerCallID), let number = settings.operatorNumber else { return nil }
        let language = LanguageTag.primary(call.brief.language)
        return TwiML.dial(
            number, callerID: Routing.normalize(call.callerNumber), ringSeconds: Int(settings.ringTimeout),
            next: "\(twilio.publicURL)/twilio/transferred?language=\(language)")
    }

    /// Twilio takes the call from our stream and dials.
    private func transfer() {
        guard let twilio = line.twilio, let twiML = transferTwiML else { return }
        Task {
            do {
                // The stream may be gone before the answer is here.
                graph?.transferAccepted()
                _ = try await twilio.rest.redirect(providerCallID, to: twiML)
            } catch { graph?.transferFailed("\(error)") }
        }
    }

    private func close(_ stream: Confined<any MediaStream>, _ journal: CallJournal, _ ended: @escaping @Sendable () -> Void) {
        // The carrier plays what it has; the close ends the stream (and, at Twilio, goes on with the TwiML).
        stream.value.close()
        graph = nil
        let isOwn = attempt == nil
        let id = call.outboundID
        Task { [line] in
            if isOwn { await journal.close() }
            // Only now: a shutdown waits until nothing is left here.
            line.calls.remove(id)
            ended()
        }
    }
}
