internal import Bridge
internal import Net
internal import Realtime

/// The conversation of one media stream, the same for every carrier: makes its recording, graph, transfer and levels,
/// and tells the journal what happens. Confined to the loop of the call.
final class ConversationHost {
    /// What only the carrier of the call can do.
    struct Carrier {
        /// Transfers the call by the carrier's own means; `WarmTransfer.carrier` gets the result. False: it cannot.
        var transfers: (TransferChoice) -> Bool = { _ in false }
        /// It can do so for callers who name no operator.
        var canTransfer = false
        /// What has been counted of the media.
        var figures: () -> Call.MediaFigures? = { nil }
    }

    private let loop: EventLoop
    private let call: Call
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private let carrier: Carrier
    let transfer: WarmTransfer
    /// nil: before the answer, and after the end.
    private(set) var graph: CallGraph?

    init(
        loop: EventLoop, call: Call, line: CallLine, settings: CallSettings, journal: CallJournal, carrier: Carrier
    ) {
        self.loop = loop
        self.call = call
        self.line = line
        self.settings = settings
        self.journal = journal
        self.carrier = carrier
        transfer = WarmTransfer(
            loop: loop, line: line, settings: settings, journal: journal, call: call, ownWay: carrier.transfers)
    }

    /// The call is answered: the conversation begins, with the AI, or with the person who waits for the caller.
    /// - Parameter ended: called once, when the conversation is over and the journal knows.
    func start(_ stream: any MediaStream, ended: @escaping (EndReason) -> Void) {
        let graph = CallGraph(
            loop: loop, stream: stream, modes: line.modes(call.brief.language, journal.usage), brief: call.brief,
            settings: settings.conversation(of: call, canTransfer: carrier.canTransfer || line.hasTargets(settings)),
            usage: journal.usage, levels: line.levels.begin(call.id), recording: journal.beginRecording(),
            toolBox: line.toolBox(call)
        ) { [journal, carrier, weak transfer = self.transfer] event in
            if case .transfer = event { transfer?.announced() }
            guard let outcome = journal.took(event) else { return }
            stream.results = Self.results(outcome)
            journal.conversationEnded(outcome, reason: outcome.endReason, media: carrier.figures())
            ended(outcome.endReason)
        }
        self.graph = graph
        transfer.graph = graph
        graph.start(with: transfer.callerAnswered())
    }

    /// What a far end is told that asks for results: the answers by their questions' ids, and how it ended.
    static func results(_ outcome: Outcome) -> [String: String] {
        var results = ["end_reason": outcome.endReason.rawValue]
        for answer in outcome.tracker.answers where answer.status == .answered {
            results[answer.questionID] = answer.value?.text ?? answer.summary ?? answer.text
        }
        return results
    }

    /// The call is over.
    func close() {
        transfer.close()
        graph = nil
        line.levels.end(call.id)
    }
}
