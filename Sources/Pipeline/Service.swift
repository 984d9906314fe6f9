/// A stage that waits: for a model, a socket or a clock. Its lifetime is its task; hanging up cancels it.
public protocol Service<Input, Output>: Sendable {
    associatedtype Input: Sendable
    associatedtype Output: Sendable
    /// Runs until `input` ends or the task is cancelled. Whoever calls it finishes `output` afterwards.
    func run(from input: Edge<Input>, to output: Edge<Output>) async throws
}

/// Runs a processor in the current task until its input ends.
public func pump<Stage: Processor & ~Copyable>(
    _ stage: consuming Stage, from input: Edge<Stage.Input>, to output: Edge<Stage.Output>
) async throws {
    defer { output.finish() }
    var stage = stage
    var made: [Stage.Output] = []
    while let signal = await input.next() {
        made.removeAll(keepingCapacity: true)
        switch signal {
        case .data(let payload): try stage.process(payload, into: &made)
        case .flush:
            stage.flush()
            output.flush()
        case .end: try stage.finish(into: &made)
        }
        for item in made { try await output.send(item) }
        if case .end = signal { return }
    }
}
