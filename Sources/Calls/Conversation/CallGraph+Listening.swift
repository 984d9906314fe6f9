internal import Bridge
internal import Pipeline
internal import Realtime

/// From the caller: messages of the stream, frames through the caller's stages, what the stages find.
extension CallGraph {
    func received(_ message: MediaStreamMessage) {
        guard !isOver else { return }
        switch message {
        case .connected, .clear: break
        case .start: mediaStarted()
        case .media(let frame): heard(frame)
        case .dtmf(let digit): pressed(digit)
        case .mark(let name):
            let now = now
            if let turn = speaker.reached(mark: name, at: now) { turnHeard(turn, at: now) }
        case .stop: farEndLeft()
        }
    }

    func mediaStarted() {
        // Its handshake may have made the stream wide.
        if stream.isWide { recording?.widen() }
        guard !hasMedia else { return }
        hasMedia = true
        soundUntil = now
        session?.mediaStarted(at: now)
    }

    private func pressed(_ digit: Character) {
        switch floor {
        case .agent: session?.key(digit, at: now)
        case .waiting: break
        case .person(let person): person.send(.dtmf(digit))
        }
    }

    private func heard(_ frame: EncodedFrame) {
        let now = now
        lastFrameAt = now
        soundUntil = now
        receiving.count()
        heardFrame.begin(frame, wide: &wideSound, in: moment)
        recording?.caller(frame, wide: heardFrame.wide, now: now)
        tell(frame, .inbound)
        switch floor {
        case .agent: break
        case .waiting: return levels.far(peak: frame.peak)
        case .person(let person):
            levels.far(peak: frame.peak)
            person.send(.media(frame))
            return
        }
        listen(at: now)
    }

    /// Once a tick: where the far end sends nothing, silence fills the time, so that the stages measure it. Some
    /// carriers send nothing while nothing is said (Asterisk's chan_websocket, whose channel waits).
    func fillSilence(_ now: Int) {
        guard hasMedia, !stream.isPaused, now - soundUntil >= Self.gapMs else { return }
        // A stop of this process is no silence of the far end's: what lies further back is given up.
        soundUntil = max(soundUntil, now - 2 * Self.gapMs)
        while !isOver, !isTransferring, now - soundUntil >= EncodedFrame.milliseconds {
            soundUntil += EncodedFrame.milliseconds
            heardFrame.begin(EncodedFrame(), in: moment)
            listen(at: now)
        }
    }

    /// The frame goes through the caller's stages, and what they find to the session.
    private func listen(at now: Int) {
        callerChain.process(&heardFrame)
        let activity = heardFrame.activity
        levels.far(decibels: activity.level)
        if activity.isSpeech { lastSpeechMs = now }
        session?.heard(heardFrame, at: now)
        // Most frames bring neither.
        for event in heardFrame.turns where !isOver { handle(event, at: now) }
        for interruption in heardFrame.interruptions where !isOver { handle(interruption, at: now) }
    }

    /// How the call stands, for the caller's stages.
    private var moment: CallMoment {
        var moment = CallMoment()
        moment.endOfTurnSilenceMs = endOfTurnSilenceMs
        guard speaker.isSpeaking, let session else { return moment }
        moment.isAISpeaking = true
        moment.isInterruptible = session.isInterruptible
        moment.callerWords = session.callerWords
        return moment
    }

    private func handle(_ event: TurnEvent, at now: Int) {
        switch event {
        case .speechStarted:
            endOfTurnSilenceMs = nil
            session?.speechStarted(at: now - settings.detector.startFrames * EncodedFrame.milliseconds)
        case .paused: session?.paused(at: now)
        case .speechEnded(let spokenMs):
            session?.speechEnded(spokenMs: spokenMs, lastSpeechAt: now - heardFrame.silentMs, at: now)
        case .monologue: session?.monologue(at: now)
        }
    }

    private func handle(_ interruption: Interruption, at now: Int) {
        switch interruption {
        case .pause: speaker.pause(now: now)
        case .resume:
            speaker.resume()
            session?.resumed(at: now)
        case .interrupt:
            interruptionCount += 1
            session?.interrupted(at: now)
            flushSpeech()
        }
    }

    /// So long a silence ends the caller's turn in progress, ms.
    func awaitSilence(ms: Int) { if heardFrame.isInTurn { endOfTurnSilenceMs = ms } }

    /// The carrier has found out that an answering machine has the call.
    public func answeringMachine() {
        guard !isOver, !isTransferring else { return }
        session?.answeringMachine(at: now)
    }
}
