/// A stage that waits: for a model, a socket or a clock. Its lifetime is its task; hanging up cancels it.
public protocol Service<Input, Output>: Sendable {
    associatedtype Input: Sendable
    associatedtype Output: Sendable
    /// Runs until `input` ends or the task is cancelled. The caller finishes `output` afterwards.
    func run(from input: Edge<Input>, to output: Edge<Output>) async throws
}
