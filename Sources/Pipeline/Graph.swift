/// The stages of one call, run as child tasks of the task that runs the graph, in the order they were added.
///
/// The graph ends when its first stage to fail fails, when all stages end, or when its task is cancelled; in each case
/// every stage is cancelled and awaited, so nothing of a call outlives it.
public struct Graph: Sendable {
    private var stages: [(name: String, body: @Sendable () async throws -> Void)] = []

    public init() {}

    /// Adds a service between two edges.
    public mutating func add<Stage: Service>(
        _ name: String, _ service: Stage, from input: Edge<Stage.Input>, to output: Edge<Stage.Output>
    ) {
        add(name) {
            defer { output.finish() }
            try await service.run(from: input, to: output)
        }
    }

    /// Adds any stage.
    public mutating func add(_ name: String, _ body: @escaping @Sendable () async throws -> Void) {
        stages.append((name, body))
    }

    /// Runs all stages until the first failure or the last end.
    public func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for stage in stages {
                group.addTask {
                    do { try await stage.body() } catch let error as StageFailure { throw error } catch {
                        throw StageFailure(stage: stage.name, underlying: error)
                    }
                }
            }
            do {
                while try await group.next() != nil {}
            } catch {
                group.cancelAll()
                throw error
            }
        }
    }
}

/// A stage failed; says which.
public struct StageFailure: Error, Sendable, CustomStringConvertible {
    public var stage: String
    public var underlying: any Error
    public var description: String { "\(stage): \(underlying)" }
}
