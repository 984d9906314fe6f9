internal import Bridge
internal import Foundation
internal import Net
internal import Pipeline
internal import Realtime

/// When a realtime conversation prompts, gives up and reconnects.
public struct RealtimePolicy: Sendable, Equatable {
    /// The AI greets as soon as media flows; else it waits to be spoken to.
    public var speaksFirst = true
    /// Silence of the caller after our turn until he is prompted, ms.
    public var silencePromptMs = 7_000
    /// Prompts in a row until the call ends.
    public var silencePrompts = 2
    /// From the end of the caller's turn until the response must have begun, and between two signs of life of it, ms.
    public var responseTimeoutMs = 10_000
    /// A response that came while we were still speaking waits this long for the transcript that decides about it, ms.
    public var decisionMs = 1_500
    /// A goodbye that does not end in this time is cut, ms.
    public var closingLimitMs = 10_000
    /// Times a session that broke is opened again in a row.
    public var reconnects = 3
    /// Pause before the first of them, doubled each time, ms.
    public var reconnectDelayMs = 200
    /// To be said first, and not to be interrupted.
    public var disclosure: String?
    /// Left on an answering machine; nil: the call is ended.
    public var voicemailMessage: String?
    /// Answering machines and the like are looked for. Nobody who calls us is one.
    public var detectsMachines = true
    /// Silence that is borne while a person is being fetched, ms.
    public var holdMs = 45_000
    public init() {}
}

/// A speech model holds the conversation; we pace, interrupt, account for what was heard, and watch over it.
///
///     frame ─→ (resample) ─→ SpeechSession ─→ (resample, frame, encode) ─→ Speaker
///                                 └─ tools, transcripts ─→ TaskTracker, transcript
final class RealtimeTalker: Talker {
    /// Caller's frames kept while there is no session: 10 s, so that nothing of the first words is lost.
    static let pendingLimit = 500
    /// Silence after which the model cannot be waiting for the end of a turn, ms; and frames that one message holds then.
    static let quietAfterMs = 1_000
    static let quietFrames = 5
    /// Frames of a response that waits for a decision: 30 s.
    static let heldLimit = 1_500

    private unowned let graph: CallGraph
    private let loop: EventLoop
    private let stream: any MediaStream
    private let model: any SpeechModel
    private let brief: Brief
    private let policy: RealtimePolicy
    private(set) var tracker: TaskTracker
    private(set) var answeredBy: AnsweredBy = .unknown
    let edges: [EdgeReading] = []

    // The session, and the one that is to take over.
    private var session: (any SpeechSession)?
    private var successor: (any SpeechSession)?
    private var isReady = false
    private var isExpiring = false
    private var hasMedia = false
    private var hasGreeted = false
    private var failures = 0
    private var reopenAt: Int?
    private var owesAnswer = false
    private var lastHandle: String?
    private var pending: [EncodedFrame] = []
    /// The call's time of the first sound the session got.
    private var soundBeganAt: Int?

    // Responses.
    private var turn: Int32 = 0
    private var utterances: [Int: Int] = [:]
    private var isResponding = false
    private var lastSign = 0
    private var responseHasSound = false
    private var responseToolCalls = 0
    private var responseDeadline: Int?
    private var turnsSpoken = 0
    private var startedAt = 0

    // A response that came while we were speaking: is the caller's sound worth our sentence?
    private var isHolding = false
    private var held: [(frame: EncodedFrame, utterance: Int)] = []
    private var heldIsComplete = false
    private var decideBy = 0

    private var isCallerSpeaking = false
    private var silenceDeadline: Int?
    /// Waits for an answering machine to finish.
    private var voicemail: VoicemailMessage?
    private var promptsInARow = 0
    private var closing: EndReason?
    private var closingDeadline: Int?
    private var isStopped = false
    /// The model wants to hand the caller over: as soon as what it says about that has been heard.
    private var transferDeadline: Int?
    private var hasAnnouncedTransfer = false

    // Sound in the model's format.
    private var partial = EncodedFrame()
    private var partialCount = 0
    private var upward: Chain<MuLawDecoder, Resampler>?
    private var downward: Chain<Chain<Resampler, Framer>, MuLawEncoder>?
    private var resampled: [AudioFrame] = []
    private var encoded: [EncodedFrame] = []
    private var sound: [UInt8] = []
    private var waitingFrames = 0

    init(
        graph: CallGraph, loop: EventLoop, stream: any MediaStream, model: any SpeechModel, brief: Brief, tracker: TaskTracker?,
        policy: RealtimePolicy
    ) {
        self.graph = graph
        self.loop = loop
        self.stream = stream
        self.model = model
        self.brief = brief
        self.policy = policy
        self.tracker = tracker ?? TaskTracker(questions: brief.questions)
    }

    var isInterruptible: Bool { closing == nil && transferDeadline == nil && !isDisclosing }
    /// Our first turn has the disclosure in it.
    private var isDisclosing: Bool { policy.disclosure != nil && policy.speaksFirst && !hasDisclosed }
    private var hasDisclosed = false

    // MARK: The session

    func start() {
        startedAt = graph.now
        session = open()
    }

    private func open() -> any SpeechSession {
        let session = model.open(
            SpeechSessionSetup(
                instructions: RealtimeInstructions.text(brief, tracker: tracker),
                tools: DialogueTool.definitions(brief, canTransfer: graph.canTransfer),
                language: brief.language, history: graph.history, resumptionHandle: session?.resumptionHandle ?? lastHandle), on: loop)
        // The sessions are this talker's, and say nothing more once they are closed.
        let identity = ObjectIdentifier(session)
        session.onEvent = { [unowned self] event in
            guard !self.isStopped else { return }
            if self.session.map(ObjectIdentifier.init) == identity { self.happened(event, at: self.graph.now) } else { self.successorSays(event) }
        }
        session.onAudio = { [unowned self] bytes, item in
            guard !self.isStopped, self.session.map(ObjectIdentifier.init) == identity else { return }
            self.spoken(bytes, item: item)
        }
        if case .pcm(let input, let output) = session.format {
            upward = try? MuLawDecoder().then(Resampler(from: 8_000, to: input))
            downward = try? Resampler(from: output, to: 8_000).then(Framer(sampleRate: 8_000)).then(MuLawEncoder())
        }
        return session
    }

    private func sessionReady(at now: Int) {
        isReady = true
        soundBeganAt = pending.isEmpty ? nil : now - pending.count * EncodedFrame.milliseconds
        sound.removeAll(keepingCapacity: true)
        for frame in pending {
            take(frame, at: now)
            sendSound()
        }
        pending.removeAll()
        greet(at: now)
        // A question or our greeting was lost with the session before.
        if owesAnswer, hasGreeted {
            ask(graph.transcript.isEmpty ? RealtimeInstructions.greeting(brief, disclosure: policy.disclosure) : nil, at: now)
        }
        owesAnswer = false
    }

    private func sessionClosed(_ reason: String, isFatal: Bool, at now: Int) {
        lastHandle = session?.resumptionHandle ?? lastHandle
        session = nil
        isReady = false
        owesAnswer = owesAnswer || isResponding || responseDeadline != nil
        responseDeadline = nil
        if isHolding { dropHeld() }
        responseEnded()
        utterances.removeAll()
        failures += 1
        guard !isFatal, failures <= policy.reconnects else { return graph.talkerFailed("\(model.name): \(reason)") }
        reopenAt = now + policy.reconnectDelayMs << (failures - 1)
    }

    /// Nobody speaks, and no answer is on its way.
    private var isQuiet: Bool { !isResponding && responseDeadline == nil && !isHolding && !isCallerSpeaking && !graph.speaker.isSpeaking }

    /// A new session, opened in a quiet moment, takes the place of one whose time is running out, if it is quiet still: what the
    /// caller has begun to say, and the answer to it, are the old one's.
    private func successorSays(_ event: SpeechSessionEvent) {
        switch event {
        case .ready:
            guard let next = successor else { return }
            guard isQuiet else {
                next.close()
                successor = nil
                return
            }
            session?.close()
            session = next
            successor = nil
            isExpiring = false
            utterances.removeAll()
            sessionReady(at: graph.now)
        case .closed: successor = nil  // tried again at the next quiet moment
        default: break
        }
    }

    private func happened(_ event: SpeechSessionEvent, at now: Int) {
        lastSign = now
        switch event {
        case .ready: sessionReady(at: now)
        case .callerSpeechStarted:
            isCallerSpeaking = true
            silenceDeadline = nil
        case .callerSpeechStopped: callerStopped(at: now)
        case .callerTranscript(let text, let start, let end): callerSaid(text, start, end, at: now)
        case .responseStarted(let isRequested): responseStarted(isRequested: isRequested, at: now)
        case .text(let text, let item): graph.speaker.append(text, to: utterance(of: item))
        case .itemFinished(let item): itemFinished(item)
        case .toolCall(let callID, let name, let arguments): called(name, arguments, callID: callID, at: now)
        case .responseFinished(let status): responseFinished(status, at: now)
        case .usage(let tokens): graph.usage.add("realtime/" + model.name, tokens)
        case .interruptedByServer: graph.flushSpeech()
        case .warning(let text): graph.report(.warning(model.name + ": " + text))
        case .expiring: isExpiring = true
        case .closed(let reason, let isFatal): sessionClosed(reason, isFatal: isFatal, at: now)
        }
    }

    // MARK: From the caller

    func mediaStarted(at now: Int) {
        hasMedia = true
        greet(at: now)
    }

    private func greet(at now: Int) {
        guard isReady, hasMedia, !hasGreeted else { return }
        hasGreeted = true
        owesAnswer = false
        guard policy.speaksFirst else { return }
        ask(RealtimeInstructions.greeting(brief, disclosure: policy.disclosure), at: now)
    }

    func heard(_ frame: EncodedFrame, isSpeech: Bool, isInTurn: Bool, at now: Int) {
        guard isReady else {
            if pending.count >= Self.pendingLimit { pending.removeFirst() }
            pending.append(frame)
            return
        }
        // Nobody waits for the sound of a caller who is silent while we speak, or has been for long: several frames in one message.
        let isQuiet =
            !isSpeech && !isInTurn && !isCallerSpeaking && (graph.speaker.isSpeaking || now > graph.lastSpeechMs + Self.quietAfterMs)
        if !isQuiet, waitingFrames == 0, frame.law == .muLaw, let session, case .muLaw = session.format {
            if soundBeganAt == nil { soundBeganAt = now - EncodedFrame.milliseconds }
            return frame.withBytes { session.hear($0) }
        }
        take(frame, at: now)
        waitingFrames += 1
        if !isQuiet || waitingFrames >= Self.quietFrames { sendSound() }
    }

    /// Adds a frame to what goes to the model, in its format.
    private func take(_ frame: EncodedFrame, at now: Int) {
        guard let session else { return }
        if soundBeganAt == nil { soundBeganAt = now - EncodedFrame.milliseconds }
        let spoken = frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw)
        guard case .pcm = session.format else { return spoken.withBytes { sound.append(contentsOf: $0) } }
        resampled.removeAll(keepingCapacity: true)
        try? upward?.process(spoken, into: &resampled)
        for piece in resampled {
            // The models' PCM is little-endian, and so is every machine that Swift runs on.
            piece.withSamples { sound.append(contentsOf: UnsafeRawBufferPointer($0)) }
        }
    }

    private func sendSound() {
        waitingFrames = 0
        if !sound.isEmpty { sound.withUnsafeBufferPointer { session?.hear($0) } }
        sound.removeAll(keepingCapacity: true)
    }

    func speechStarted(at now: Int) {
        isCallerSpeaking = true
        voicemail?.speechStarted()
        silenceDeadline = nil
    }

    func speechEnded(spokenMs: Int, lastSpeechAt: Int, at now: Int) {
        // The model's server may not have taken it for speech at all.
        isCallerSpeaking = false
        voicemail?.speechEnded(at: now)
        guard voicemail == nil else { return }
        guard let session, !session.reportsSpeech else {
            if !isResponding, responseDeadline == nil, !graph.speaker.isSpeaking { silenceDeadline = now + promptMs }
            return
        }
        if session.turnDetection == .manual { session.commitTurn() }
        callerStopped(at: now)
    }

    private func callerStopped(at now: Int) {
        isCallerSpeaking = false
        promptsInARow = 0
        guard voicemail == nil else { return }
        guard !graph.speaker.isSpeaking else { return }
        graph.latency.begin(speechEndedAt: min(graph.lastSpeechMs, now), now: now)
        graph.latency.transcribed(now)
        if !isResponding { responseDeadline = now + policy.responseTimeoutMs }
    }

    private func callerSaid(_ text: String, _ start: Int?, _ end: Int?, at now: Int) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        let began = soundBeganAt ?? now
        let endMs = end.map { min(now, began + $0) } ?? min(graph.lastSpeechMs, now)
        let startMs = start.map { min(endMs, began + $0) } ?? max(0, endMs - 1_000)
        let talk = mayBeMachine ? LineTalk.read(text, language: brief.language) : nil
        isOnHold = talk != nil
        if !text.isEmpty {
            if talk == .screening {
                answeredBy = .screening
            } else if talk == nil, answeredBy == .unknown || answeredBy == .screening {
                answeredBy = .human
            }
            lastEvidence = .init(turn: graph.transcript.count, startMs: startMs, endMs: endMs)
            graph.append(TranscriptEntry(startMs: startMs, endMs: endMs, speaker: .customer, text: text))
        }
        if talk == .machine { return answeringMachine(at: now) }
        guard isHolding else { return }
        if text.isEmpty || Backchannel.isOne(text, language: brief.language) { dropHeld() } else { releaseHeld(interrupting: true) }
    }
    private var lastEvidence: Answer.Evidence?

    /// Nobody has answered a question yet.
    private var mayBeMachine: Bool {
        policy.detectsMachines && closing == nil && voicemail == nil && !tracker.answers.contains { $0.status == .answered }
    }
    /// A person is being fetched: screening, hold, a menu.
    private var isOnHold = false
    private var promptMs: Int { isOnHold ? policy.holdMs : policy.silencePromptMs }

    func paused(at now: Int) {}
    /// The transcript comes too late to tell.
    var callerWords: Int? { nil }
    func monologue(at now: Int) {}

    func key(_ digit: Character, at now: Int) {
        answeredBy = answeredBy == .unknown ? .human : answeredBy
        silenceDeadline = nil
        graph.append(TranscriptEntry(startMs: now, endMs: now, speaker: .customer, text: "[\(digit)]"))
        interrupted(at: now)
        graph.flushSpeech()
        session?.note("[The caller pressed the key \(digit).]")
        ask(nil, at: now)
    }

    func interrupted(at now: Int) {
        if isHolding { dropHeld() }
        if isResponding { session?.cancelResponse() }
        flushSound()
    }

    func resumed(at now: Int) {}

    // MARK: Responses

    private func ask(_ instructions: String?, at now: Int) {
        responseDeadline = now + policy.responseTimeoutMs
        session?.respond(instructions)
    }

    private func responseStarted(isRequested: Bool, at now: Int) {
        if graph.isTransferring || voicemail != nil { session?.cancelResponse() }
        isResponding = true
        responseHasSound = false
        responseToolCalls = 0
        responseDeadline = nil
        silenceDeadline = nil
        turn += 1
        flushSound()
        // The server answers a sound that did not stop us: wait for its words.
        if !isRequested, graph.speaker.isSpeaking {
            isHolding = true
            heldIsComplete = false
            decideBy = now + policy.decisionMs
        }
    }

    /// The ledger's utterance of a session's item; a new one begins with its first sound or word.
    private func utterance(of item: Int) -> Int {
        if let known = utterances[item] { return known }
        let utterance = graph.speaker.begin(turn: turn, text: "")
        utterances[item] = utterance
        return utterance
    }

    private func spoken(_ bytes: UnsafeBufferPointer<UInt8>, item: Int) {
        let now = graph.now
        lastSign = now
        let utterance = utterance(of: item)
        if !responseHasSound {
            responseHasSound = true
            turnsSpoken += 1
            graph.latency.worded(now)
            graph.latency.synthesized(now)
        }
        guard case .pcm(_, let rate) = session?.format else {
            var rest = bytes
            while !rest.isEmpty {
                let taken = min(EncodedFrame.byteCount - partialCount, rest.count)
                for index in 0..<taken { partial.bytes[partialCount + index] = rest[index] }
                partialCount += taken
                rest = UnsafeBufferPointer(rebasing: rest[taken...])
                if partialCount == EncodedFrame.byteCount { emitPartial(of: utterance) }
            }
            return
        }
        encoded.removeAll(keepingCapacity: true)
        var start = 0
        while start + 1 < bytes.count {
            var frame = AudioFrame(sampleRate: rate)
            frame.fill { buffer in
                let count = min(buffer.count, (bytes.count - start) / 2)
                for index in 0..<count {
                    let at = start + 2 * index
                    buffer[index] = Int16(bitPattern: UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8)
                }
                return count
            }
            start += 2 * max(1, frame.count)
            try? downward?.process(frame, into: &encoded)
        }
        for frame in encoded { emit(frame, of: utterance) }
    }

    private func emitPartial(of utterance: Int) {
        partialCount = 0
        emit(partial, of: utterance)
    }

    private func emit(_ frame: EncodedFrame, of utterance: Int) {
        guard !graph.speaker.ledger.utterances[utterance].isInterrupted else { return }
        if isHolding {
            if held.count < Self.heldLimit { held.append((frame, utterance)) }
        } else {
            graph.say(frame, of: utterance)
        }
    }

    /// What did not fill a frame belongs to speech that nobody wants any more.
    private func flushSound() {
        partialCount = 0
        downward?.flush()
    }

    private func itemFinished(_ item: Int) {
        guard let utterance = utterances[item] else { return }
        if partialCount > 0 {
            for index in partialCount..<EncodedFrame.byteCount { partial.bytes[index] = CompandingLaw.muLaw.silence }
            emitPartial(of: utterance)
        }
        encoded.removeAll(keepingCapacity: true)
        try? downward?.finish(into: &encoded)
        for frame in encoded { emit(frame, of: utterance) }
        if isHolding { heldIsComplete = true } else { graph.speaker.complete(utterance) }
    }

    private func responseEnded() {
        isResponding = false
        for utterance in utterances.values where !isHolding { graph.speaker.complete(utterance) }
        // Of a turn that was cut off there is no end to wait for.
        if responseHasSound, !isHolding, !graph.speaker.ledger.isInterrupted(turn: turn) { graph.speaker.turnComplete(turn) }
    }

    private func responseFinished(_ status: SpeechResponseStatus, at now: Int) {
        guard isResponding else { return }
        responseEnded()
        switch status {
        case .completed, .incomplete:
            failures = 0
            if transferDeadline != nil { return announceTransfer(at: now) }
            if closing != nil, !responseHasSound, !graph.speaker.isSpeaking { return end() }
            if responseToolCalls > 0, !responseHasSound { ask(closing == nil ? nil : RealtimeInstructions.goodbye, at: now) }
            if closing == nil, turnsSpoken >= brief.maxTurns { beginClosing(.maxTurns, at: now) }
            if !responseHasSound, responseToolCalls == 0, closing == nil { silenceDeadline = now + promptMs }
        case .cancelled: break
        case .failed(let code):
            failures += 1
            guard failures <= policy.reconnects else { return graph.talkerFailed("\(model.name): response failed: \(code)") }
            ask(nil, at: now)
        }
    }

    private func dropHeld() {
        isHolding = false
        held.removeAll()
        for utterance in utterances.values { graph.speaker.complete(utterance) }
        if isResponding { session?.cancelResponse() }
    }

    private func releaseHeld(interrupting: Bool) {
        isHolding = false
        let frames = held
        held.removeAll()
        if interrupting {
            let keep = Set(frames.map(\.utterance))
            graph.interruptForResponse(keeping: keep)
        }
        for item in frames { graph.say(item.frame, of: item.utterance) }
        if heldIsComplete || !isResponding { responseEndedLate() }
    }

    private func responseEndedLate() {
        for utterance in utterances.values { graph.speaker.complete(utterance) }
        if responseHasSound { graph.speaker.turnComplete(turn) }
    }

    func turnHeard(_ heard: String, turn: Int32, isInterrupted: Bool, at now: Int) {
        let ledger = graph.speaker.ledger
        for (item, utterance) in utterances where ledger.utterances[utterance].turn == turn {
            if isInterrupted, !ledger.isFullyHeard(utterance) {
                session?.truncate(item: item, heardMs: ledger.utterances[utterance].playedMs)
            }
        }
        utterances = utterances.filter { ledger.utterances[$0.value].turn != turn }
        if !isInterrupted { hasDisclosed = true }
        guard !isInterrupted else { return }
        if closing != nil, turn == self.turn, !isResponding { return end() }
        if transferDeadline != nil, turn == self.turn, !isResponding { return transfer() }
        if !isResponding, !isCallerSpeaking { silenceDeadline = now + promptMs }
    }

    // MARK: Tools

    private func called(_ name: String, _ arguments: String, callID: String, at now: Int) {
        responseToolCalls += 1
        switch name {
        case DialogueTool.reportTaskState:
            let changed = tracker.apply(json: arguments)
            if let lastEvidence { tracker.attach(lastEvidence, to: changed) }
            graph.report(.progress(tracker))
            session?.finishTool(callID: callID, output: RealtimeInstructions.state(of: tracker))
        case DialogueTool.endCall:
            let request = try? JSONDecoder().decode(DialogueTool.EndCall.self, from: Data(arguments.utf8))
            let reason = request.flatMap { EndReason(rawValue: $0.reason) } ?? .taskCompleted
            session?.finishTool(callID: callID, output: #"{"ok":true}"#)
            if reason == .voicemail, policy.voicemailMessage != nil { return answeringMachine(at: now) }
            if reason == .voicemail { answeredBy = .voicemail }
            if closing == nil {
                closing = reason
                closingDeadline = now + policy.closingLimitMs
            }
        case DialogueTool.transferToOperator where graph.canTransfer && closing == nil:
            session?.finishTool(callID: callID, output: #"{"ok":true,"status":"they are being put through"}"#)
            if transferDeadline == nil {
                hasAnnouncedTransfer = false
                transferDeadline = now + policy.closingLimitMs
            }
        case DialogueTool.sendDTMF:
            session?.finishTool(callID: callID, output: press(arguments) ? #"{"ok":true}"# : #"{"error":"this line takes no keys"}"#)
        default: session?.finishTool(callID: callID, output: #"{"error":"there is no such tool"}"#)
        }
    }

    private func press(_ arguments: String) -> Bool { DialogueTool.SendDTMF.keys(in: arguments).map(graph.press) ?? false }

    // MARK: Transfer

    /// The other party is told before it is handed over; where the model said nothing, it is asked to, once.
    private func announceTransfer(at now: Int) {
        if responseHasSound { return hasAnnouncedTransfer = true }
        guard !hasAnnouncedTransfer else { return graph.speaker.isSpeaking ? () : transfer() }
        hasAnnouncedTransfer = true
        ask(RealtimeInstructions.puttingThrough, at: now)
    }

    private func transfer() {
        transferDeadline = nil
        silenceDeadline = nil
        responseDeadline = nil
        graph.transfer()
    }

    func transferRequested(at now: Int) {
        guard transferDeadline == nil, closing == nil else { return }
        graph.flushSpeech()
        if isResponding { session?.cancelResponse() }
        hasAnnouncedTransfer = true
        transferDeadline = now + policy.closingLimitMs
        guard isReady else { return transfer() }
        ask(RealtimeInstructions.puttingThrough, at: now)
    }

    func transferFailed(at now: Int) {
        guard isReady else { return owesAnswer = true }
        session?.note(RealtimeInstructions.transferFailed)
        ask(nil, at: now)
    }

    // MARK: Deadlines

    func answeringMachine(at now: Int) {
        guard closing == nil, voicemail == nil else { return }
        answeredBy = .voicemail
        guard let message = policy.voicemailMessage else { return graph.finish(.voicemail) }
        interrupted(at: now)
        graph.flushSpeech()
        silenceDeadline = nil
        responseDeadline = nil
        voicemail = VoicemailMessage(message, isSpeaking: isCallerSpeaking, at: now)
    }

    /// The machine has finished, or never does.
    private func leaveMessage(_ voicemail: VoicemailMessage, at now: Int) {
        switch voicemail.step(at: now) {
        case .wait: break
        case .giveUp: graph.finish(.voicemail)
        case .say:
            guard isReady else { break }
            self.voicemail = nil
            closing = .voicemail
            closingDeadline = now + VoicemailMessage.limitMs
            ask(RealtimeInstructions.say(voicemail.text), at: now)
        }
    }

    func say(_ text: String, at now: Int) {
        guard closing == nil, isReady else { return }
        interrupted(at: now)
        graph.flushSpeech()
        ask(RealtimeInstructions.say(text), at: now)
    }

    func timeIsUp(at now: Int) { beginClosing(.maxDuration, at: now) }

    private func beginClosing(_ reason: EndReason, at now: Int) {
        guard closing == nil else { return }
        closing = reason
        closingDeadline = now + policy.closingLimitMs
        if reason == .maxDuration {
            if isResponding { session?.cancelResponse() }
            graph.flushSpeech()
        }
        guard isReady else { return end() }
        ask(RealtimeInstructions.goodbye, at: now)
    }

    private func end() { graph.finish(closing ?? .taskCompleted) }

    func tick(at now: Int) {
        if let deadline = closingDeadline, now >= deadline { return end() }
        if let voicemail { leaveMessage(voicemail, at: now) }
        if let deadline = transferDeadline, now >= deadline { return transfer() }
        if let at = reopenAt, now >= at {
            reopenAt = nil
            session = open()
        }
        if isHolding {
            if !graph.speaker.isSpeaking { releaseHeld(interrupting: false) } else if now >= decideBy { dropHeld() }
        }
        watch(at: now)
        if isExpiring, successor == nil, isQuiet { successor = open() }
        if let deadline = silenceDeadline, now >= deadline, !isCallerSpeaking, !graph.speaker.isSpeaking { prompt(at: now) }
    }

    /// A response that never comes, or stops coming.
    private func watch(at now: Int) {
        guard isReady else { return }
        let isStuck = isResponding && now > lastSign + policy.responseTimeoutMs
        let isMissing = responseDeadline.map { now >= $0 } ?? false
        guard isStuck || isMissing else { return }
        responseDeadline = nil
        session?.close()
        session = nil
        graph.report(.warning("\(model.name): a response did not come within \(policy.responseTimeoutMs) ms"))
        owesAnswer = true
        sessionClosed("no response within \(policy.responseTimeoutMs) ms", isFatal: false, at: now)
    }

    private func prompt(at now: Int) {
        silenceDeadline = nil
        isOnHold = false
        if tracker.isCompleted, !tracker.questions.isEmpty { return graph.finish(.taskCompleted) }
        promptsInARow += 1
        if promptsInARow > policy.silencePrompts {
            beginClosing(.silence, at: now)
        } else {
            ask(RealtimeInstructions.silence, at: now)
        }
    }

    func speakerHasRoom() {}

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        graph.usage.add("realtime/" + model.name, .milliseconds, max(0, graph.now - startedAt))
        session?.close()
        session = nil
        successor?.close()
        successor = nil
        held.removeAll()
        pending.removeAll()
    }
}
