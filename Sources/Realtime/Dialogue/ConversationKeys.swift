public import Settings

extension ConversationPolicy {
    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting("agent.speaks_first", \.speaksFirst, .flag, "the AI greets as soon as media flows")
        Setting(
            "agent.disclosure", \.disclosure, .text,
            "spoken first, word for word, and not to be interrupted, e.g. that an AI is calling", unset: "none")
        Setting(
            "agent.silence_prompt_ms", \.silencePromptMs, .whole(1_000...60_000, .milliseconds),
            "silence after which the other party is prompted")
        Setting(
            "agent.hold_ms", \.holdMs, .whole(1_000...600_000, .milliseconds),
            "silence that is borne while a person is being fetched: screening, hold, a menu")
        Setting(
            "agent.turn.finished_ms", \.endOfTurn.finishedMs, .whole(100...5_000, .milliseconds),
            "silence that ends a turn whose sentence is finished, as its words show")
        Setting(
            "agent.turn.dangling_ms", \.endOfTurn.danglingMs, .whole(100...10_000, .milliseconds),
            "silence that ends a turn that breaks off, e.g. with \"and\"")
        Setting(
            "agent.turn.dictation_ms", \.endOfTurn.dictationMs, .whole(100...10_000, .milliseconds),
            "silence that ends a number being dictated")
        Setting(
            "agent.turn.speculate", \.speculates, .flag, "ask the language model before the turn's end is certain")
        Setting(
            "agent.filler_ms", \.fillerMs, .whole(0...60_000, .milliseconds),
            "wait for the language model after which the caller hears that we are at it; 0: never")
        Setting(
            "realtime.response_timeout_ms", \.responseTimeoutMs, .whole(500...60_000, .milliseconds),
            "until a speech model's response must begin or go on")
    }
}
