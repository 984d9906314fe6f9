internal import Pipeline
internal import Synchronization

/// Recognition by whole turns: a turn's sound is kept until it ends, and then transcribed at once.
struct WholeTurns: Sendable {
    /// Turns in hand, of all calls that share a recogniser: those that are transcribed, and those that wait for it.
    final class InHand: Sendable {
        private let count = Mutex(0)
        private let limit: Int

        init(limit: Int) { self.limit = limit }

        fileprivate func enter() -> Bool {
            count.withLock { count in
                guard count < limit else { return false }
                count += 1
                return true
            }
        }

        fileprivate func leave() { count.withLock { $0 -= 1 } }
    }

    /// A turn as it is transcribed.
    final class Turn: Sendable {
        let samples: [Int16]
        /// What was asked.
        let hints: AnswerHints?
        private let givenUp = Atomic(false)

        init(_ samples: [Int16], _ hints: AnswerHints?) {
            self.samples = samples
            self.hints = hints
        }

        /// It has gone on: one that waits for a worker need not be transcribed.
        var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }
        fileprivate func giveUp() { givenUp.store(true, ordering: .relaxed) }
    }

    /// What is over a turn's limit is taken away in pieces of so many samples, not frame by frame.
    private static let surplus = 16_000

    /// Samples of one turn that are kept; what is older is dropped.
    let sampleLimit: Int
    /// Samples up to which a turn is transcribed at each pause, since it may end with it; 0: never.
    var guessLimit = 0
    /// A turn that finds no place is not understood, and the caller is asked again; nil: any number.
    var inHand: InHand?
    /// The text of a turn; it may take its time. nil: the turn was given up.
    let transcribe: @Sendable (Turn) async throws -> TranscriptEvent?

    func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        var samples: [Int16] = []
        var hints: AnswerHints?
        var guess: (turn: Turn, event: Task<TranscriptEvent?, any Error>)?
        func giveUpGuess() {
            guess?.turn.giveUp()
            guess = nil
        }
        defer { giveUpGuess() }
        while let signal = await input.next() {
            guard case .data(let item) = signal else {
                if case .flush = signal { continue }
                return
            }
            switch item {
            case .expect(let next):
                if next != hints { giveUpGuess() }
                hints = next
            case .audio(let frame):
                giveUpGuess()
                frame.withSamples { samples += $0 }
                if samples.count > sampleLimit + Self.surplus { samples.removeFirst(samples.count - sampleLimit) }
            case .paused:
                guard guess == nil, samples.count <= guessLimit else { continue }
                let turn = Turn(samples, hints)
                guess = (turn, Task { try await transcript(of: turn) })
            case .turnEnded:
                var event = try await guess?.event.value
                if event == nil { event = try await transcript(of: Turn(Array(samples.suffix(sampleLimit)), hints)) }
                guess = nil
                samples.removeAll(keepingCapacity: true)
                try await output.send(event ?? .final(text: "", confidence: nil))
            }
        }
    }

    /// nil: the turn was given up, or found no place.
    private func transcript(of turn: Turn) async throws -> TranscriptEvent? {
        guard !turn.samples.isEmpty else { return nil }
        guard let inHand else { return try await transcribe(turn) }
        guard inHand.enter() else { return nil }
        defer { inHand.leave() }
        return try await transcribe(turn)
    }
}
