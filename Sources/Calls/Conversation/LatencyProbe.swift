internal import Realtime

/// Stamps the steps between a caller's last word and our first.
struct LatencyProbe {
    private var speechEnded: Int?
    private var decided = 0
    private var transcript: Int?
    private var words: Int?
    private var sound: Int?
    private var wire: Int?

    mutating func begin(speechEndedAt: Int, now: Int) {
        self = LatencyProbe()
        speechEnded = speechEndedAt
        decided = now
    }
    mutating func transcribed(_ now: Int) { if transcript == nil { transcript = now } }
    mutating func worded(_ now: Int) { if words == nil { words = now } }
    mutating func synthesized(_ now: Int) { if sound == nil { sound = now } }
    mutating func sent(_ now: Int) { if wire == nil { wire = now } }

    /// The whole answer, once; nil where a turn of ours answered no turn of the caller's.
    mutating func take() -> TurnLatency? {
        defer { self = LatencyProbe() }
        guard let speechEnded, let transcript, let words, let sound, let wire else { return nil }
        return TurnLatency(
            endOfTurnMs: decided - speechEnded, speechToTextMs: transcript - decided,
            languageModelMs: words - transcript,
            textToSpeechMs: sound - words, queueingMs: wire - sound)
    }
}
