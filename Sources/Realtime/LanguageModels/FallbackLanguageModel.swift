/// Models in order: when one fails, the next one answers; where the first had begun to speak, the next goes on from there.
public struct FallbackLanguageModel: LanguageModel {
    private let models: [NamedEngine<any LanguageModel>]
    private let health: ProviderHealth
    private let report: EngineReport

    /// - Parameter models: best first, at least one.
    public init(_ models: [NamedEngine<any LanguageModel>], health: ProviderHealth, report: @escaping EngineReport) {
        self.models = models
        self.health = health
        self.report = report
    }

    public func respond(to conversation: Conversation) -> AsyncThrowingStream<LanguageModelEvent, any Error> {
        AsyncThrowingStream { continuation in
            let task = Task {
                var conversation = conversation
                var last: any Error = SpeechError("there is no language model")
                for model in health.order(models) {
                    do {
                        for try await event in model.engine.respond(to: conversation) {
                            if case .text(let text) = event { conversation.unfinished += text }
                            continuation.yield(event)
                        }
                        try Task.checkCancellation()
                        health.succeeded(model.name)
                        return continuation.finish()
                    } catch is CancellationError { return continuation.finish(throwing: CancellationError()) } catch {
                        last = error
                        health.failed(model.name, error)
                        report("\(error)")
                    }
                }
                continuation.finish(throwing: last)
            }
            continuation.onTermination = { if case .cancelled = $0 { task.cancel() } }
        }
    }
}
