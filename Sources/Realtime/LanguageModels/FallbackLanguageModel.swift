/// Models in order: when one fails, the next one answers; if the first had begun to speak, the next one continues from
/// there.
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

    public func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
        var conversation = conversation
        var last: any Error = SpeechError("there is no language model")
        for model in health.order(models) {
            var said = ""
            do {
                try await model.engine.respond(to: conversation) { event in
                    if case .text(let text) = event { said += text }
                    try await tell(event)
                }
                try Task.checkCancellation()
                return health.succeeded(model.name)
            } catch let error where !(error is CancellationError) {
                conversation.unfinished += said
                last = error
                health.failed(model.name, error)
                report("\(error)")
            }
        }
        throw last
    }
}
