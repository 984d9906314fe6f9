import Bridge
import Foundation
import Net
import Pipeline
import Realtime

/// One call that the built-in callee has taken. An actor of its event loop.
actor CalleeCall {
    /// Silence of the AI that gives the callee the turn, ms.
    private static let turnSilenceMs = 500
    /// A person does not answer at once.
    private static let thinkMs = 250
    /// A packet of ours that is louder than this carries speech, dB below full scale: a detector's usual least level.
    private static let speechLevel: Float = -45
    /// A packet of the AI's that is louder than this carries sound.
    private static let soundLevel: Float = -50
    /// A packet that is louder than this is not the silence a line without speech carries.
    private static let silenceLevel: Float = -90

    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private let persona: Persona
    private let dialog: Dialog
    private let ear: CalleeEar?
    private let voice: FliteVoice
    private let report: @Sendable ([String: any Sendable]) -> Void

    private var leg: Leg?
    private var stream: (any MediaStream)?
    private var detector = VoiceActivityDetector()
    private var level = VoiceActivityDetector()
    private var turns = TurnDetector(.init(silenceMs: CalleeCall.turnSilenceMs, monologueMs: 60_000))
    private var events: [TurnEvent] = []
    private var prefix: [EncodedFrame] = []
    private var batch: [EncodedFrame] = []
    private var ticker: EventLoop.Ticker?
    private var answersGiven = 0
    private var hasInterrupted = false

    // Measured on the wire, from packet to packet, in milliseconds of the clock.
    /// What we play is an utterance, and whether it is to interrupt.
    private var isPlaying = false
    private var isInterrupting = false
    private var lastSpeechSentAt: UInt64?
    private var awaitsReply = false
    private var replyBeganAt: UInt64?
    private var lastAISoundAt: UInt64 = 0
    private var lastFrameAt: UInt64 = 0
    private var worstGapMs: UInt64 = 0
    private var bargeInFrom: UInt64?
    private var aiBeganAt: UInt64?

    init(
        loop: EventLoop, persona: Persona, dialog: Dialog, ear: CalleeEar?, voice: FliteVoice,
        report: @escaping @Sendable ([String: any Sendable]) -> Void
    ) {
        self.loop = loop
        self.persona = persona
        self.dialog = dialog
        self.ear = ear
        self.voice = voice
        self.report = report
    }

    func answer(_ offer: String?, host: String, ports: PortRange) {
        guard let offer, let rtp = try? RTPSession(loop: loop, host: host, ports: ports) else {
            return dialog.reject(488)
        }
        var negotiation = OfferAnswer(host: host, port: rtp.localPort, isSecure: false)
        guard let (body, terms) = try? negotiation.answer(offer) else { return dialog.reject(488) }
        rtp.negotiate(terms)
        dialog.answer(sdp: body)
        rtp.onTransmit = { [weak self] frame in self?.assumeIsolated { $0.transmitted(frame) } }
        let pair = MediaStreamPair.make()
        stream = pair.application
        pair.application.onMessage = { [weak self] message in self?.assumeIsolated { $0.received(message) } }
        let leg = Leg(rtp: rtp, stream: pair.carrier, start: StreamStart(streamID: "callee", callID: dialog.callID))
        self.leg = leg
        leg.open()
        if persona == .voicemail { Task { await speakVoicemail() } }
    }

    func handle(_ event: DialogEvent) {
        switch event {
        case .cancelled: report(["event": "cancelled"])
        case .ended(let byRemote):
            report(["event": "ended", "by": byRemote ? "caller" : "callee", "worst_rtp_gap_ms": Int(worstGapMs)])
        case .failed(let status, _, _, _): report(["event": "failed", "status": status])
        case .progress, .answered, .acknowledged, .referral, .reanswered, .reofferRefused, .referralRequested: return
        case .reoffer: return dialog.reject(488)
        case .replaced(let call): return call.dialog.reject(481)
        }
        leg?.close()
        leg = nil
        stream = nil
    }

    private func received(_ message: MediaStreamMessage) {
        switch message {
        case .media(let frame): heard(frame)
        case .mark(let name): reached(name)
        case .dtmf(let digit): report(["event": "dtmf", "digit": String(digit)])
        default: break
        }
    }

    private func heard(_ frame: EncodedFrame) {
        let now = EventLoop.nowMs()
        if lastFrameAt > 0 { worstGapMs = max(worstGapMs, now - lastFrameAt) }
        lastFrameAt = now
        let verdict = detector.detect(frame)
        let isSound = verdict.level > Self.soundLevel
        if isSound { lastAISoundAt = now }
        if awaitsReply, verdict.level > Self.silenceLevel, replyBeganAt == nil { replyBeganAt = now }
        if awaitsReply, isSound, let sent = lastSpeechSentAt, let began = replyBeganAt {
            awaitsReply = false
            if bargeInFrom == nil {
                report(["event": "latency", "first_sample_ms": Int(began - sent), "audible_ms": Int(now - sent)])
            }
        }
        if let from = bargeInFrom, now > from + 400, lastAISoundAt + 100 < now {
            bargeInFrom = nil
            awaitsReply = false
            report(["event": "barge_in", "silent_after_ms": Int(lastAISoundAt) + 20 - Int(from)])
        }
        events.removeAll(keepingCapacity: true)
        turns.process(verdict, into: &events)
        if turns.isInTurn {
            if !prefix.isEmpty { batch += prefix }
            prefix.removeAll()
            batch.append(frame)
            if batch.count >= 10 { flushBatch() }
        } else {
            if prefix.count >= 15 { prefix.removeFirst() }
            prefix.append(frame)
        }
        for event in events {
            switch event {
            case .speechStarted: aiBegan(now)
            case .speechEnded: aiEnded()
            case .paused, .monologue: break
            }
        }
        if persona == .interrupts, !hasInterrupted, let began = aiBeganAt, now > began + 1_500 {
            hasInterrupted = true
            Task { await say("Hello, who is this?", isBargeIn: true) }
        }
    }

    private func aiBegan(_ now: UInt64) { aiBeganAt = now }

    private func flushBatch() {
        guard !batch.isEmpty else { return }
        ear?.hear(batch)
        batch.removeAll(keepingCapacity: true)
    }

    private func aiEnded() {
        aiBeganAt = nil
        flushBatch()
        let reaction: @Sendable (String) -> Void = { [weak self] words in Task { await self?.react(to: words) } }
        if let ear { ear.finish(reaction) } else { reaction("") }
    }

    // MARK: Reactions

    private func react(to words: String) async {
        let question = CalleeEar.question(in: words)
        report(["event": "heard", "text": words, "question": question?.text ?? ""])
        try? await Task.sleep(for: .milliseconds(Self.thinkMs))
        guard leg != nil else { return }
        let isGoodbye = words.hasSuffix("goodbye") || words.contains("goodbye")
        if isGoodbye { return }
        switch persona {
        case .cooperative, .interrupts:
            if let question { await answer(question.cooperative.say) } else { await say("Can you repeat that?") }
        case .opposite:
            if let question { await answer(question.opposite.say) } else { await say("Can you repeat that?") }
        case .hangsUp:
            if answersGiven == 0 {
                if let question { await answer(question.cooperative.say) } else { await say("Can you repeat that?") }
            } else {
                dialog.hangUp()
            }
        case .load: await answer("Yes, I will be there.")
        case .mumbles: await mumble()
        case .busy: await say("I'm busy right now.")
        case .refuses: await say("Please stop calling me.")
        case .wrongNumber: await say("You have the wrong number.")
        case .keypad:
            stream?.send(.dtmf("1"))
            report(["event": "pressed", "key": "1"])
        case .silent, .noAnswer, .rejects, .voicemail: break
        }
    }

    private func answer(_ text: String) async {
        answersGiven += 1
        await say(text)
    }

    private func say(_ text: String, isBargeIn: Bool = false) async {
        let voice = voice
        guard let speech = try? await Task.detached(operation: { try voice.synthesize(text) }).value else { return }
        report(["event": "said", "text": text])
        send(speech.samples, rate: speech.sampleRate, isBargeIn: isBargeIn)
    }

    /// Hums with a wandering pitch: a voice, but no words.
    private func mumble() async {
        report(["event": "said", "text": "(mumbles)"])
        var samples: [Int16] = []
        var phase = 0.0
        for index in 0..<20_800 {
            let time = Double(index) / 16_000
            phase += (110 + 25 * sin(time * 9)) / 16_000
            let voice = sin(2 * .pi * phase) + 0.5 * sin(4 * .pi * phase) + 0.25 * sin(6 * .pi * phase)
            let swell = 0.35 + 0.65 * abs(sin(time * 7))
            samples.append(Int16(voice * swell * 5_000))
        }
        send(samples, rate: 16_000, isBargeIn: false)
    }

    private func speakVoicemail() async {
        await say(
            "Hello. You have reached the voicemail of John Smith. I can't come to the phone right now. "
                + "Please leave a message after the beep."
        )
        var beep = [Int16](repeating: 0, count: 8_000)
        for index in 0..<8_000 { beep[index] = Int16(9_000 * sin(2 * .pi * 1_000 * Double(index) / 16_000)) }
        send([Int16](repeating: 0, count: 6_400) + beep, rate: 16_000, isBargeIn: false)
    }

    /// Plays PCM on our line, between two marks.
    private func send(_ samples: [Int16], rate: Int32, isBargeIn: Bool) {
        guard let stream,
            var chain = try? Resampler(from: rate, to: 8_000).then(Framer(sampleRate: 8_000)).then(MuLawEncoder())
        else { return }
        var frames: [EncodedFrame] = []
        try? chain.process(samples: samples[...], sampleRate: rate, into: &frames)
        try? chain.finish(into: &frames)
        stream.send(.mark(isBargeIn ? "barge" : "begin"))
        for frame in frames { stream.send(.media(frame)) }
        stream.send(.mark("end"))
    }

    private func reached(_ mark: String) {
        switch mark {
        case "begin", "barge":
            isPlaying = true
            isInterrupting = mark == "barge"
        case "end":
            isPlaying = false
            awaitsReply = true
            replyBeganAt = nil
        default: break
        }
    }

    private func transmitted(_ frame: EncodedFrame) {
        guard isPlaying, level.detect(frame).level > Self.speechLevel else { return }
        let now = EventLoop.nowMs()
        lastSpeechSentAt = now
        if isInterrupting {
            isInterrupting = false
            bargeInFrom = now
        }
    }
}
