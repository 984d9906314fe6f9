internal import Bridge
internal import Net
internal import Pipeline
internal import Realtime

/// What becomes of a caller's wish to speak with a person, whoever carries him. Confined to the loop of his call.
final class TransferDesk {
    private let loop: EventLoop
    private let line: CallLine
    private let settings: CallSettings
    private let journal: CallJournal
    private let caller: (number: String, name: String)
    /// The carrier's own way to send the caller elsewhere; nil: it has none.
    private let blind: ((TransferChoice) -> Bool)?
    weak var graph: CallGraph?
    private var choice = TransferChoice.anybody
    private var mode: CallSettings.TransferMode?
    private var handover: Handover?

    init(
        loop: EventLoop, line: CallLine, settings: CallSettings, journal: CallJournal, call: Call,
        blind: ((TransferChoice) -> Bool)? = nil
    ) {
        self.loop = loop
        self.line = line
        self.settings = settings
        self.journal = journal
        caller = (call.remoteNumber, "")
        self.blind = blind
    }

    /// Whether there is anybody at all, now or later in the call.
    static func hasSomebody(_ line: CallLine, _ settings: CallSettings) -> Bool {
        line.operators?.all.isEmpty == false
            || !line.targets(settings, choice: settings.operatorNumber.map { .number($0) } ?? .anybody).isEmpty
    }

    /// An operator wants it; the caller is told first. False: it cannot be done now.
    func request(_ choice: TransferChoice, _ mode: CallSettings.TransferMode?) -> Bool {
        self.choice = choice
        self.mode = mode
        return graph?.requestTransfer() ?? false
    }

    /// A person at a stream of his own wants it; the caller is told first. False: it cannot be done now.
    func takeOver(_ person: StreamedPerson) -> Bool {
        guard guest == nil, let graph else { return false }
        let stream = CrossLoopStream.hand(person.stream, of: person.loop, to: loop)
        stream.onClose = { [weak self] _ in self?.guest = nil }
        // Who takes the caller is known before the caller can have been told.
        guest = (person.name, stream)
        guard graph.requestTransfer(isSomebodyThere: true) else {
            guest = nil
            return false
        }
        return true
    }
    private var guest: (name: String, stream: any MediaStream)?

    /// The caller has been told.
    func begin() {
        if let guest {
            self.guest = nil
            journal.transfer(to: guest.name, operatorID: nil, .ringing)
            journal.transfer(to: guest.name, operatorID: nil, .connected)
            graph?.bridge(to: guest.stream)
            return
        }
        let choice = choice, mode = mode ?? settings.transferMode
        self.choice = .anybody
        self.mode = nil
        let targets = mode == .attended || blind == nil ? line.targets(settings, choice: choice) : []
        guard !targets.isEmpty else {
            if blind?(choice) == true { return }
            graph?.transferFailed("there is nobody to hand it to")
            return
        }
        graph?.playMusic()
        hand(to: targets, briefing: graph?.briefing)
    }

    private func hand(to targets: [Handover.Target], briefing: Briefing?) {
        handover = Handover(
            loop: loop, line: line, settings: settings, journal: journal, caller: caller, targets: targets,
            briefing: briefing
        ) { [weak self] event in self?.handle(event) }
        handover?.begin()
    }

    /// Before the answer: the operator's phones ring while the caller's call rings. `onResult` hears once who took it;
    /// nil: nobody.
    func ring(_ target: Handover.Target, onResult: @escaping ((any MediaStream)?) -> Void) {
        self.onResult = onResult
        hand(to: [target], briefing: nil)
    }
    private var onResult: (((any MediaStream)?) -> Void)?

    private func handle(_ event: Handover.Event) {
        switch event {
        case .connected(let stream):
            if let onResult {
                self.onResult = nil
                return onResult(stream)
            }
            graph?.bridge(to: stream)
        case .failed(let reason):
            handover = nil
            if let onResult {
                self.onResult = nil
                return onResult(nil)
            }
            graph?.transferFailed(reason)
        case .held(let isHeld): graph?.holdByPerson(isHeld)
        case .detached: graph?.detach()
        }
    }

    /// The call is over.
    func close() {
        onResult = nil
        handover?.close()
        handover = nil
        guest?.stream.close()
        guest = nil
    }
}
