internal import JSON
internal import Realtime

/// The document of an agent. Another leaf is one line; what it does inside a call is `AgentProfile`'s.
public enum AgentForm {
    /// Bytes of a document as JSON.
    public static let sizeLimit = 262_144
    /// Items of lists.
    public static let questionLimit = 20
    static let ruleLimit = 20, factLimit = 100, toolLimit = 20, serverLimit = 5, keytermLimit = 100, variableLimit = 50
    /// Characters of texts.
    public static let purposeLimit = 2_000
    static let nameLimit = 100, roleLimit = 4_000, itemLimit = 500, keytermLength = 50, wordLimit = 64
    static let choiceLimit = 100, messageLimit = 1_000
    /// Characters of a variable's value, and bytes of all values of a call.
    public static let valueLimit = 1_000, valuesLimit = 16_384
    static let choiceRange = 2...9

    public static let leaves: [AgentLeaf] = [
        AgentLeaf("slug", .slug, required: true, "what the agent is called by; it is never used again"),
        AgentLeaf("name", .line(nameLimit), required: true, "what it is called"),
        AgentLeaf("language", .language, "BCP 47 tag of its conversations, e.g. ko") { $0.language = $1.string },
        AgentLeaf("mode", .choice(AgentProfile.Mode.allCases.map(\.rawValue)), "how conversations are held") {
            $0.profile.mode = $1.string.flatMap(AgentProfile.Mode.init)
        },
        AgentLeaf("publish_gate", .later, "a suite of evals that a version must have passed"),
        AgentLeaf("variables", .list(.object(variable), 0...variableLimit), "what a call is given"),

        AgentLeaf("context.role", .template(roleLimit), "who the AI is") { $0.profile.role = $1.string },
        AgentLeaf("context.style", .template(itemLimit), "how it speaks") { $0.profile.style = $1.string },
        AgentLeaf("context.safety_rules", .list(.template(itemLimit), 0...ruleLimit), "what it must never do") {
            $0.profile.safetyRules = $1.texts
        },
        AgentLeaf("context.facts", .list(.textOrObject(.template(itemLimit), pair), 0...factLimit), "what it knows") {
            $0.takeFacts($1)
        },
        AgentLeaf("purpose", .template(purposeLimit), "why we call") { $0.purpose = $1.string },
        AgentLeaf("first_message", .template(itemLimit), "its first words, word for word") {
            $0.profile.firstMessage = $1.string
        },
        AgentLeaf("closing", .template(itemLimit), "its last words") { $0.profile.closing = $1.string },
        AgentLeaf("disclosure", .template(itemLimit), "said first, word for word, and not to be interrupted") {
            $0.profile.disclosure = $1.string
        },
        AgentLeaf(
            "questions", .list(.textOrObject(.template(itemLimit), question), 1...questionLimit),
            "what must be found out, in order"
        ) { $0.takeQuestions($1) },
        AgentLeaf("flow.type", .choice(["linear"], later: ["graph"]), default: "linear", "what follows what"),

        AgentLeaf("agent.handoff_criteria", .flags(ruleLimit), "reasons to put the caller through to a person") {
            $0.profile.handoffCriteria = $1.members?.filter { $0.value == true }.keys.sorted()
        },
        AgentLeaf("agent.crm_field_mapping", .later, "fields of a lead, by question"),
        AgentLeaf("tools", .list(.known(.tools), 0...toolLimit), "what its model may call") {
            $0.profile.tools = $1.texts
        },
        AgentLeaf("mcp", .list(.known(.servers), 0...serverLimit), "MCP servers whose tools it may call") {
            $0.profile.servers = $1.texts
        },
        AgentLeaf("before_call", .later, "tools that are asked before the conversation"),
        AgentLeaf("knowledge.sets", .list(.known(.knowledge), 0...toolLimit), "what it answers from") {
            $0.profile.knowledge.sets = $1.texts
        },
        AgentLeaf("knowledge.answer_directly", .flag, "a known question is answered word for word") {
            $0.profile.knowledge.answersDirectly = $1.flag
        },

        AgentLeaf("voice.tts_provider", .provider(.textToSpeech), "who speaks") {
            $0.profile.textToSpeech.provider = $1.string
        },
        AgentLeaf("voice.tts_voice_id", .line(nameLimit), "the vendor's id of a voice") {
            $0.profile.textToSpeech.voice = $1.string
        },
        AgentLeaf("voice.speed", .decimal(0.5...2), "1 is the voice's own pace") {
            $0.profile.textToSpeech.speed = $1.decimal
        },
        AgentLeaf("voice.stt_provider", .provider(.speechToText), "who recognises") {
            $0.profile.speechToText.provider = $1.string
        },
        AgentLeaf("voice.stt_language", .language, "what is recognised, where it is not the call's language") {
            $0.profile.speechToText.language = $1.string
        },
        AgentLeaf("stt.model", .line(nameLimit), "the recogniser's model") {
            $0.profile.speechToText.model = $1.string
        },
        AgentLeaf("stt.keyterms", .list(.line(keytermLength), 0...keytermLimit), "words that are likely here") {
            $0.profile.speechToText.keyterms = $1.texts
        },
        AgentLeaf("llm.provider", .provider(.languageModel), "who chooses the words") {
            $0.profile.languageModel.provider = $1.string
        },
        AgentLeaf("llm.model", .line(nameLimit), "its model") { $0.profile.languageModel.model = $1.string },
        AgentLeaf("llm.temperature", .decimal(0...2), "how freely it chooses") {
            $0.profile.languageModel.temperature = $1.decimal
        },
        AgentLeaf("realtime.provider", .provider(.speechModel), "whose speech model") {
            $0.profile.speechModel.provider = $1.string
        },
        AgentLeaf("realtime.model", .line(nameLimit), "its model") { $0.profile.speechModel.model = $1.string },
        AgentLeaf("realtime.voice", .line(nameLimit), "its voice") { $0.profile.speechModel.voice = $1.string },

        AgentLeaf("turns.finished_ms", .whole(100...5_000), "silence that ends a finished sentence, ms") {
            $0.profile.turns.finishedMs = $1.integer
        },
        AgentLeaf("turns.barge_in.confirm_ms", .whole(40...4_000), "caller speech over ours that takes the turn, ms") {
            $0.profile.turns.bargeInConfirmMs = $1.integer
        },
        AgentLeaf("turns.silence_prompt_ms", .whole(1_000...60_000), "silence after which we ask again, ms") {
            $0.profile.turns.silencePromptMs = $1.integer
        },
        AgentLeaf("turns.speaks_first", .flag, "the AI greets as soon as media flows") {
            $0.profile.turns.speaksFirst = $1.flag
        },
        AgentLeaf("voicemail.action", .choice(AgentBrief.voicemailActions), "what is done with an answering machine") {
            $0.voicemailAction = $1.string
        },
        AgentLeaf("voicemail.message", .template(messageLimit), "what is said to it") {
            $0.voicemailMessage = $1.string
        },
        AgentLeaf("recording.save", .flag, "keep the sound of its calls") { $0.profile.savesRecording = $1.flag },
        AgentLeaf("recording.consent_line", .template(itemLimit), "said before a conversation that is recorded") {
            $0.profile.consentLine = $1.string
        },
        AgentLeaf("limits.max_duration", .whole(10...3_600), "seconds until a call is ended") {
            $0.maxDuration = $1.integer
        },
        AgentLeaf("limits.max_turns", .whole(1...200), "AI turns until a call is ended") {
            $0.profile.maxTurns = $1.integer
        },
    ]

    private static let variable = [
        AgentLeaf("name", .variable, required: true, "stands in texts as {{name}}"),
        AgentLeaf("required", .flag, default: false, "no call is created without a value"),
        AgentLeaf("default", .text(valueLimit), "its value where none is given"),
        AgentLeaf("example", .text(valueLimit), "for a person who fills it in"),
    ]
    private static let pair = [
        AgentLeaf("question", .template(itemLimit), required: true, "what callers may ask"),
        AgentLeaf("answer", .template(itemLimit), required: true, "what they are told"),
    ]
    /// As `questions` of a call (SPEC §1.1).
    private static let question = [
        AgentLeaf("text", .template(itemLimit), required: true, "what is asked"),
        AgentLeaf("type", .choice(Question.Kind.allCases.map(\.rawValue)), default: "text", "kind of answer"),
        AgentLeaf("choices", .list(.line(choiceLimit), 0...choiceRange.upperBound), "answers to choose from"),
        AgentLeaf("required", .flag, default: true, "the task is not done without it"),
        AgentLeaf("ask_if.question", .line(10), "id of an earlier question, e.g. q1"),
        AgentLeaf("ask_if.equals", .scalar(itemLimit), "its answer"),
    ]

    static let tree = AgentTree(leaves)

    /// Names of one level in the order of their description; nil: the level has no description.
    static func order(at path: [String]) -> [String]? {
        var tree = tree
        for name in path {
            guard case .group(let branches) = tree, let branch = branches.first(where: { $0.name == name }) else {
                return nil
            }
            tree = branch.tree
        }
        guard case .group(let branches) = tree else { return nil }
        return branches.map(\.name)
    }
}
