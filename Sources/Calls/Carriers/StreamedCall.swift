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
    private var graph: CallGraph?

    init(loop: EventLoop, call: Call, line: CallLine, settings: CallSettings, journal: CallJournal?) {
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings
        attempt = journal
    }

    /// - Parameter ended: called once, when the conversation is over and its stream has been closed.
    func run(_ stream: Confined<any MediaStream>, ended: @escaping @Sendable () -> Void = {}) {
        let journal = attempt ?? CallJournal(call, store: line.store, settings: settings, logger: line.logger, now: { Date() })
        if attempt == nil { journal.insert(call) } else { journal.connected() }
        let recording = journal.recordingName.flatMap { Recording.begin(in: settings.recordingsFolder, named: $0, for: journal) }
        var conversation = settings.conversation
        conversation.maxDurationMs = min(call.maxDuration, settings.maxCallDuration) * 1_000
        let graph = CallGraph(
            loop: loop, stream: stream.value, modes: line.modes(call.brief.language), brief: call.brief, settings: conversation,
            recording: recording
        ) { [weak self] event in
            guard let outcome = journal.took(event) else { return }
            journal.conversationEnded(outcome, reason: outcome.endReason)
            self?.assumeIsolated { $0.close(stream, journal, ended) }
        }
        self.graph = graph
        graph.start()
        graph.streamStarted()
        line.calls.add(call.outboundID) { reason in Task { await self.hangUp(reason) } }
    }

    func hangUp(_ reason: EndReason) { graph?.finish(reason) }

    var edges: [EdgeReading] { graph?.edges ?? [] }

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
