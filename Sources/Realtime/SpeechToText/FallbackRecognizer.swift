internal import DequeModule
public import Pipeline

/// Recognisers in order: when one fails, the next one gets the current turn again from its beginning, and goes on.
public struct FallbackRecognizer: SpeechToText {
    /// Items of a turn that are kept for the next recogniser: 60 s.
    private static let keptLimit = 3_000

    private let engines: [NamedEngine<any SpeechToText>]
    private let health: ProviderHealth
    private let report: EngineReport
    private let usage: UsageMeter?

    /// - Parameters:
    ///   - engines: best first, at least one.
    ///   - usage: records which of them is in use.
    public init(
        _ engines: [NamedEngine<any SpeechToText>], health: ProviderHealth, usage: UsageMeter? = nil,
        report: @escaping EngineReport
    ) {
        self.usage = usage
        self.engines = engines
        self.health = health
        self.report = report
    }

    /// The first one's; for another one it is converted.
    public var sampleRate: Int32 { engines.first?.engine.sampleRate ?? 8_000 }
    public func recognizes(language: String) -> Bool { engines.contains { $0.engine.recognizes(language: language) } }

    /// What was heard of the turn in progress.
    private actor Turn {
        private var kept: Deque<RecognizerInput> = []
        private var hints: RecognizerInput?
        private let sampleRate: Int32
        private var inner: Edge<RecognizerInput>?
        private var resampler: Resampler?
        private var resampled: [AudioFrame] = []
        private var isEnded = false

        init(sampleRate: Int32) { self.sampleRate = sampleRate }

        func take(_ item: RecognizerInput) {
            switch item {
            case .expect: hints = item
            case .paused: break
            case .audio, .turnEnded: kept.append(item)
            }
            if kept.count > FallbackRecognizer.keptLimit { kept.removeFirst() }
            offer(item)
        }

        private func offer(_ item: RecognizerInput) {
            guard case .audio(let frame) = item, resampler != nil else {
                inner?.offer(item)
                return
            }
            resampled.removeAll(keepingCapacity: true)
            try? resampler?.process(frame, into: &resampled)
            for frame in resampled { inner?.offer(.audio(frame)) }
        }

        /// The turn has been reported: the next recogniser does not get it again.
        func told() {
            guard let end = kept.firstIndex(where: { if case .turnEnded = $0 { true } else { false } }) else { return }
            kept.removeFirst(end + 1)
        }

        func attach(_ edge: Edge<RecognizerInput>, sampleRate rate: Int32) throws {
            inner = edge
            resampler = rate == sampleRate ? nil : try Resampler(from: sampleRate, to: rate)
            if let hints { edge.offer(hints) }
            for item in kept { offer(item) }
            if isEnded { edge.finish() }
        }

        func end() {
            isEnded = true
            inner?.finish()
        }
    }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        usage?.use(.speechToText, engines[0].name)
        if engines.count == 1 {
            return try await health.watch(engines[0].name) { try await engines[0].engine.run(from: input, to: output) }
        }
        let turn = Turn(sampleRate: sampleRate)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                while let signal = await input.next() {
                    if case .data(let item) = signal { await turn.take(item) }
                    if case .end = signal { break }
                }
                await turn.end()
                return false
            }
            group.addTask {
                try await recognize(turn, output)
                return true
            }
            defer { group.cancelAll() }
            while let isOver = try await group.next() { if isOver { return } }
        }
    }

    private func recognize(_ turn: Turn, _ output: Edge<TranscriptEvent>) async throws {
        try await health.run(engines, kind: "recogniser", report: report) { next, worked in
            let edge = Edge<RecognizerInput>("toRecognizer", limit: Self.keptLimit + 500, whenFull: .dropOldest)
            let transcripts = Edge<TranscriptEvent>("transcripts", limit: 64, whenFull: .wait)
            usage?.use(.speechToText, next.name)
            try await turn.attach(edge, sampleRate: next.engine.sampleRate)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { transcripts.finish() }
                    try await next.engine.run(from: edge, to: transcripts)
                }
                while case .data(let event)? = await transcripts.next() {
                    if case .final = event {
                        await turn.told()
                        worked()
                    }
                    try await output.send(event)
                }
                try await group.waitForAll()
            }
        }
    }
}
