import Calls
import KnowledgeBase
import Net
import Realtime

/// Ways to hold a conversation, in the order in which they are tried: as the configuration says, and for a call as its
/// agent does.
struct ConversationModes: Sendable {
    let realtime: RealtimeSettings
    let catalog: SpeechCatalog
    let knowledge: KnowledgeStore
    let resolver = HostResolver()

    func modes(of request: ConversationRequest, _ usage: UsageMeter) -> [ConversationMode] {
        let profile = request.profile
        let settings = realtime.applying(profile)
        let known = knowledge(of: request)
        guard settings.mode == .realtime else { return [cascade(request, known, usage)] }
        let briefing =
            profile == nil
            ? nil
            : known.map {
                KnowledgeBriefing($0, answersDirectly: profile?.knowledge.answersDirectly ?? true)
            }
        let models = settings.usableProviders.map { name in
            ConversationMode.realtime(
                name == "gemini"
                    ? GeminiLive(settings.gemini, resolver: resolver)
                    : OpenAIRealtime(settings.openAI, resolver: resolver), knowledge: briefing)
        }
        return models + (settings.fallsBack ? [cascade(request, known, usage)] : [])
    }

    private func cascade(
        _ request: ConversationRequest, _ known: KnowledgeStore?, _ usage: UsageMeter
    ) -> ConversationMode {
        .cascade(
            catalog.engines(language: request.language, profile: request.profile, knowledge: known, usage: usage))
    }

    /// The sets that the agent has chosen; nil: it has chosen none. Of an embedded conversation nothing leaves the
    /// machine, so no vectors are asked for.
    private func knowledge(of request: ConversationRequest) -> KnowledgeStore? {
        let profile = request.profile, sets = profile?.knowledge.sets ?? [KnowledgeStore.defaultSet]
        return sets.isEmpty
            ? nil
            : knowledge.of(request.company).limited(
                to: sets, byWordsAlone: profile?.mode == .embedded)
    }
}
