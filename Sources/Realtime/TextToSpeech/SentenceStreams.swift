internal import DequeModule
internal import Pipeline
internal import Synchronization

/// The output for one sentence, from any voice.
enum VoicePiece: Sendable {
    /// 16-bit linear PCM.
    case audio([Int16])
    case words([SpokenWord])
    case failed(SpeechError)
}

/// Sentences in order, the next one asked for while one is being spoken; a flush gives all of them up at once.
///
///     sentences ─→ │waiting│ ─→ started, at most `ahead` + 1 at a time ─→ spoken one after the other ─→ audio
struct SentenceStreams: Sendable {
    /// Pieces of a sentence that wait to be spoken.
    static let pieceLimit = 64

    /// Hertz of the voice's PCM.
    var sampleRate: Int32
    /// Sentences asked for beyond the one being spoken.
    var ahead = 1
    /// Synthesises one sentence, and ends with it. Cancelled after a flush.
    var synthesize: @Sendable (_ sentence: Sentence, _ pieces: Edge<VoicePiece>) async throws -> Void

    private final class Job: Sendable {
        let sentence: Sentence
        let pieces = Edge<VoicePiece>("pieces", limit: SentenceStreams.pieceLimit, whenFull: .wait)
        private let task = Mutex<Task<Void, Never>?>(nil)
        init(_ sentence: Sentence) { self.sentence = sentence }

        func start(_ synthesize: @escaping @Sendable (Sentence, Edge<VoicePiece>) async throws -> Void) {
            let started = Task { [sentence, pieces] in
                do { try await synthesize(sentence, pieces) } catch is CancellationError {} catch let error
                    as SpeechError
                {
                    try? await pieces.send(.failed(error))
                } catch { try? await pieces.send(.failed(SpeechError("\(error)", .broken))) }
                pieces.finish()
            }
            task.withLock { $0 = started }
        }
        func cancel() {
            task.withLock { $0 }?.cancel()
            pieces.finish()
        }
    }

    private actor Queue {
        /// Sentences that wait; those beyond are not spoken, but no turn has so many.
        static let limit = 256
        private let ahead: Int
        private let synthesize: @Sendable (Sentence, Edge<VoicePiece>) async throws -> Void
        private var waiting: Deque<Sentence> = []
        private var started: [Job] = []
        private var reader: CheckedContinuation<Job?, Never>?
        private var isEnded = false

        init(ahead: Int, synthesize: @escaping @Sendable (Sentence, Edge<VoicePiece>) async throws -> Void) {
            self.ahead = ahead
            self.synthesize = synthesize
        }

        /// False: there is no room for it.
        func add(_ sentence: Sentence) -> Bool {
            guard waiting.count < Self.limit else { return false }
            waiting.append(sentence)
            startMore()
            return true
        }

        private func startMore() {
            while started.count <= ahead, !waiting.isEmpty {
                let job = Job(waiting.removeFirst())
                job.start(synthesize)
                started.append(job)
                if started.count == 1 { deliver(job) }
            }
        }

        private func deliver(_ job: Job?) {
            reader?.resume(returning: job)
            reader = nil
        }

        /// The sentence to be spoken now; nil: there will be none any more.
        func next() async -> Job? {
            if let job = started.first { return job }
            if isEnded { return nil }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    if Task.isCancelled { return continuation.resume(returning: nil) }
                    reader = continuation
                }
            } onCancel: {
                Task { await self.end() }
            }
        }

        func finished(_ job: Job) {
            started.removeAll { $0 === job }
            startMore()
            if started.isEmpty, isEnded { deliver(nil) }
        }

        func flush() {
            waiting.removeAll()
            for job in started { job.cancel() }
            // The sentence being spoken is removed by its own task.
            started.removeAll()
        }

        func end() {
            isEnded = true
            if started.isEmpty { deliver(nil) }
        }
    }

    func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        let queue = Queue(ahead: ahead, synthesize: synthesize)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while let signal = await input.next() {
                    switch signal {
                    case .data(let sentence):
                        if !(await queue.add(sentence)) {
                            try await output.send(.finished(utterance: sentence.utterance))
                        }
                    case .flush:
                        await queue.flush()
                        output.flush()
                    case .end: return await queue.end()
                    }
                }
                await queue.end()
            }
            group.addTask {
                do {
                    while let job = await queue.next() {
                        try await speak(job, to: output)
                        await queue.finished(job)
                    }
                } catch {
                    await queue.flush()
                    throw error
                }
                await queue.flush()
            }
            defer { group.cancelAll() }
            while try await group.next() != nil {}
        }
    }

    private func speak(_ job: Job, to output: Edge<SynthesizedAudio>) async throws {
        let utterance = job.sentence.utterance
        var chain = try Resampler(from: sampleRate, to: 8_000).then(Framer(sampleRate: 8_000))
        var frames: [AudioFrame] = []
        while case .data(let piece)? = await job.pieces.next() {
            switch piece {
            case .audio(let samples):
                frames.removeAll(keepingCapacity: true)
                try chain.process(samples: samples[...], sampleRate: sampleRate, turn: job.sentence.turn, into: &frames)
                for frame in frames { try await output.send(.audio(frame, utterance: utterance)) }
            case .words(let words): try await output.send(.words(words, utterance: utterance))
            case .failed(let error): throw error
            }
        }
        frames.removeAll(keepingCapacity: true)
        try chain.finish(into: &frames)
        for frame in frames { try await output.send(.audio(frame, utterance: utterance)) }
        try await output.send(.finished(utterance: utterance))
    }
}

/// Bytes of 16-bit little-endian PCM → samples, however the bytes are cut.
struct SampleAssembler: Sendable {
    private var odd: UInt8?

    mutating func samples(_ bytes: some Collection<UInt8>) -> [Int16] {
        var samples: [Int16] = []
        samples.reserveCapacity(bytes.count / 2 + 1)
        for byte in bytes {
            if let low = odd {
                samples.append(Int16(bitPattern: UInt16(low) | UInt16(byte) << 8))
                odd = nil
            } else {
                odd = byte
            }
        }
        return samples
    }
}
