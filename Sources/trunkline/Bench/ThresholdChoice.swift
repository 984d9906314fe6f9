import Realtime

/// Chooses the recogniser's thresholds: for each voice on all others, and at last on all of them.
///
/// From the thresholds in use, one after the other is moved to the value that costs least, until none moves any more.
actor ThresholdChoice {
    private static let values: [(any WritableKeyPath<AnswerThresholds, Float> & Sendable, [Float])] = [
        (\.certainScore, [-2, -3, -4, -5, -6, -8]),
        (\.certainMargin, [1, 1.5, 2, 2.5, 3, 4]),
        (\.likelyScore, [-6, -7, -8, -9, -10, -12]),
        (\.likelyMargin, [0.2, 0.4, 0.8, 1.2, 1.6]),
        (\.wordScore, [-1.5, -2, -2.5, -3]),
    ]
    private static let roundLimit = 3
    /// An answer is said as it is, and once more, slower and lower.
    private static let tries = 2

    private let ear: RecognitionEar
    private let lines: [TelephoneLine]
    private let others: Int
    private var tallies: [AnswerThresholds: [String: RecognitionTally]] = [:]

    /// - Parameter others: sentences that are no answer, for each voice and line.
    init(_ ear: RecognitionEar, lines: [TelephoneLine], others: Int) {
        self.ear = ear
        self.lines = lines
        self.others = others
    }

    /// A wrong value is as bad as ten questions without an answer, and "Did you say …?" a tenth as bad as one.
    static func cost(_ tally: RecognitionTally) -> Double {
        let open = tally.all - tally.within(tries) - tally.wrong
        return Double(10 * (tally.wrong + tally.accepted) + open) + 0.1 * Double(tally.confirmed)
    }

    /// The best thresholds for these voices.
    func best(for voices: [RecognitionVoice]) async throws -> AnswerThresholds {
        var best = AnswerThresholds()
        var least = Self.cost(try await tally(of: voices, best))
        for _ in 0..<Self.roundLimit {
            let before = best
            for (threshold, values) in Self.values {
                let from = best
                for value in values {
                    var next = from
                    next[keyPath: threshold] = value
                    // Less than certain, and more than nothing.
                    guard next.likelyScore <= next.certainScore, next.likelyMargin <= next.certainMargin else {
                        continue
                    }
                    let cost = Self.cost(try await tally(of: voices, next))
                    if cost < least { (best, least) = (next, cost) }
                }
            }
            if best == before { break }
        }
        return best
    }

    func tally(of voices: [RecognitionVoice], _ limits: AnswerThresholds) async throws -> RecognitionTally {
        var sum = RecognitionTally()
        for voice in voices { sum = sum + (try await tally(of: voice, limits)) }
        return sum
    }

    private func tally(of voice: RecognitionVoice, _ limits: AnswerThresholds) async throws -> RecognitionTally {
        if let known = tallies[limits]?[voice.name] { return known }
        var tally = RecognitionTally()
        for line in lines {
            let dialogue = RecognitionDialogue(ear: ear, line: line, tries: Self.tries, limits: limits)
            for said in RecognitionCase.answers {
                guard let outcome = try await dialogue.run(said, voice) else { continue }
                tally.count(outcome)
            }
            for other in RecognitionCase.others(others) {
                guard let value = try await dialogue.value(of: other, voice) else { continue }
                tally.countForeign(isAccepted: value != nil)
            }
        }
        tallies[limits, default: [:]][voice.name] = tally
        return tally
    }
}
