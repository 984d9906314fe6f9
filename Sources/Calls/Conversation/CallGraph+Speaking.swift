internal import Bridge
internal import Pipeline
internal import Realtime

/// To the caller: the session's speech through the pacer, and the transcript of what was heard of it.
extension CallGraph {
    /// An operator's words, spoken by the AI.
    public func say(_ text: String) {
        guard !isOver, !isTransferring else { return }
        session?.say(text, at: now)
    }

    /// A frame of an utterance of the session's.
    func say(_ frame: EncodedFrame, of utterance: Int) {
        let now = now
        if speaker.say(frame, of: utterance, now: now) { latency.sent(now) }
    }

    /// Keys for a voice menu. False: the line takes none.
    func press(_ keys: String) -> Bool { keys.allSatisfy { stream.send(.dtmf($0)) } }

    func speakerTick(_ now: Int) {
        let (hasSent, heard) = speaker.tick(now)
        if hasSent { latency.sent(now) }
        if !speaker.isSpeaking, partner == nil { levels.ownSilence() }
        if let heard { turnHeard(heard, at: now) }
        if speaker.hasRoom { session?.speakerHasRoom() }
    }

    /// The far end has heard a frame of ours.
    func played(_ frame: EncodedFrame) {
        levels.own(peak: frame.peak)
        tell(frame, .outbound)
    }

    /// A turn of ours has been heard to its end, and so has every turn that ran into it.
    func turnHeard(_ last: Int32, at now: Int) {
        closeTurns(before: last, at: now)
        turnClosed(last, at: now)
    }

    /// Turns that have been heard to their end without a mark of their own, as the next one followed without a pause.
    private func closeTurns(before last: Int32, at now: Int) {
        let ledger = speaker.ledger
        for turn in transcript.openTurns(in: ledger) where turn < last {
            let isHeard = ledger.utterances.contains { $0.turn == turn && $0.startedAt != nil }
            if isHeard { turnClosed(turn, at: now) }
        }
    }

    private func turnClosed(_ turn: Int32, at now: Int) {
        closeTurn(turn)
        session?.turnHeard(speaker.ledger.heardText(turn: turn), turn: turn, isInterrupted: false, at: now)
    }

    /// Barge-in: silence now, everywhere.
    func flushSpeech(keeping: Set<Int> = []) {
        let now = now
        speaker.flush(now: now, keeping: keeping)
        let ledger = speaker.ledger
        let interrupted = transcript.openInterruptions(in: ledger)
        if let first = interrupted.first { closeTurns(before: first, at: now) }
        for turn in interrupted {
            closeTurn(turn)
            session?.turnHeard(ledger.heardText(turn: turn), turn: turn, isInterrupted: true, at: now)
        }
    }

    /// What the caller said while we spoke was meant, as its words show: the response to it takes our turn's place.
    func interruptForResponse(keeping utterances: Set<Int>) {
        interruptionCount += 1
        flushSpeech(keeping: utterances)
    }

    /// Writes a turn of ours into the transcript, as it was heard.
    func closeTurn(_ turn: Int32) {
        if transcript.close(turn, in: speaker.ledger, &latency) { reportLastEntry() }
    }

    /// Writes down what is not yet of the session's turns.
    func closeTurns() { for turn in transcript.openTurns(in: speaker.ledger) { closeTurn(turn) } }

    /// A turn of ours draws on this piece of knowledge.
    func drawn(on source: String, turn: Int32) { transcript.drawn(on: source, turn: turn) }
}
