public import Pipeline

/// A request of the dialogue to a language model.
public struct ModelRequest: Sendable {
    public var conversation: Conversation
    /// Identifies the reply.
    public var generation: Int
    public init(conversation: Conversation, generation: Int) {
        self.conversation = conversation
        self.generation = generation
    }
}

/// A piece of the reply to a request.
public struct ModelReply: Sendable, Equatable {
    public enum Piece: Sendable, Equatable {
        case event(LanguageModelEvent)
        /// The reply is complete.
        case finished
        /// The model cannot answer; the reason is for the operator.
        case failed(String)
    }
    public var generation: Int
    public var piece: Piece
    public init(generation: Int, piece: Piece) {
        self.generation = generation
        self.piece = piece
    }
}

/// A language model as a stage of the graph: one response at a time; a new request, or a flush, ends the one before.
public struct LanguageModelService: Service {
    private let model: any LanguageModel
    private let background: (any TaskExecutor)?

    /// - Parameter background: runs the responses, as reading them must not delay the call's loop; nil: the shared
    ///   threads.
    public init(_ model: any LanguageModel, background: (any TaskExecutor)? = nil) {
        self.model = model
        self.background = background
    }

    public func run(from input: Edge<ModelRequest>, to output: Edge<ModelReply>) async throws {
        var current: Task<Void, Never>?
        defer { current?.cancel() }
        while let signal = await input.next() {
            current?.cancel()
            current = nil
            switch signal {
            case .data(let request):
                current = Task(executorPreference: background) { [model] in
                    await Self.respond(to: request, with: model, output)
                }
            case .flush: break
            case .end: return
            }
        }
    }

    private static func respond(
        to request: ModelRequest, with model: any LanguageModel, _ output: Edge<ModelReply>
    ) async {
        do {
            do {
                try await model.respond(to: request.conversation) { event in
                    try await output.send(ModelReply(generation: request.generation, piece: .event(event)))
                }
                try await output.send(ModelReply(generation: request.generation, piece: .finished))
            } catch let error where !(error is CancellationError) {
                try await output.send(ModelReply(generation: request.generation, piece: .failed("\(error)")))
            }
        } catch {}  // cancelled: the reply is not needed any more
    }
}
