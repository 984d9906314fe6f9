internal import Foundation
internal import Pipeline
internal import Realtime

/// What has been said in a call, as it was heard, and how long each of our answers took.
struct CallTranscript {
    private(set) var entries: [TranscriptEntry] = []
    private(set) var latencies: [TurnLatency] = []
    /// Turns of ours that are written down.
    private var closedTurns: Set<Int32> = []
    /// Titles of the knowledge that a turn of ours draws on.
    private var sources: [Int32: [String]] = [:]

    mutating func append(_ entry: TranscriptEntry) { entries.append(entry) }

    mutating func drawn(on source: String, turn: Int32) { sources[turn, default: []].append(source) }

    /// Turns that were cut off and are not written down yet.
    func openInterruptions(in ledger: HeardLedger) -> [Int32] {
        Set(ledger.utterances.filter(\.isInterrupted).map(\.turn)).subtracting(closedTurns).sorted()
    }

    /// Turns that are not written down yet.
    func openTurns(in ledger: HeardLedger) -> [Int32] {
        Set(ledger.utterances.map(\.turn)).subtracting(closedTurns).sorted()
    }

    /// Writes a turn of ours down, once, as it was heard.
    /// - Returns: false if it was written down before, or nothing of it was heard.
    mutating func close(_ turn: Int32, in ledger: HeardLedger, _ latency: inout LatencyProbe) -> Bool {
        guard closedTurns.insert(turn).inserted else { return false }
        let parts = ledger.utterances.filter { $0.turn == turn }
        guard let start = parts.compactMap(\.startedAt).min() else { return false }
        let isInterrupted = ledger.isInterrupted(turn: turn)
        append(
            TranscriptEntry(
                startMs: start, endMs: parts.compactMap(\.endedAt).max() ?? start, speaker: .ai,
                text: parts.map { $0.text.trimmingCharacters(in: .whitespaces) }.joined(separator: " "),
                heardText: isInterrupted ? ledger.heardText(turn: turn) : nil,
                isInterrupted: isInterrupted, isCutExact: isInterrupted ? !ledger.isCutEstimated(turn: turn) : nil,
                sources: sources.removeValue(forKey: turn)))
        if var measured = latency.take() {
            measured.turn = entries.count - 1
            latencies.append(measured)
        }
        return true
    }

    /// The last words of the caller.
    var lastWords: String? { entries.last { $0.speaker == .customer && !$0.text.isEmpty }?.text }

    /// What has been said, for the next session of the conversation.
    var history: [ConversationItem] {
        entries.map { entry in
            entry.speaker == .ai
                ? .assistant(heard: entry.heardText ?? entry.text, isInterrupted: entry.isInterrupted)
                : .caller(entry.text)
        }
    }
}
