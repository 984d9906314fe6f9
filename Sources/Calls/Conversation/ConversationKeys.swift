internal import Pipeline
internal import Realtime
internal import Settings

extension CallGraph.Settings {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        ConversationPolicy.keys.under(\.policy)
        Setting(
            "agent.vad.silence_duration_ms", \.detector.silenceMs, .whole(100...5_000, .milliseconds),
            "silence that ends a caller's turn")
        Setting(
            "agent.vad.threshold", \.voiceActivity.threshold, .decimal(0...1),
            "loudness that is speech: 0 is 3 dB over the noise, 0.5 is 9 dB, 1 is 15 dB")
        Setting(
            "agent.vad.prefix_padding_ms", \.prefixMs, .whole(0...2_000, .milliseconds),
            "sound from before the detected start of speech that is recognised")
        Setting(
            "agent.barge_in.confirm_ms", \.bargeIn.confirmMs, .whole(40...4_000, .milliseconds),
            "caller speech over ours that takes the turn; shorter is a backchannel")
        Setting(
            "agent.barge_in.min_words", \.bargeIn.minimumWords, .whole(0...20),
            "words that take the turn, where the recogniser tells them in time")
        Setting(
            "agent.media_timeout_ms", \.mediaTimeoutMs, .whole(500...600_000, .milliseconds),
            "a stream that brings no media for so long is dead")
    }
}
