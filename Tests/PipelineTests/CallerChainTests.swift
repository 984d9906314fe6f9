import Pipeline
import Testing

@Suite struct CallerChainTests {
    /// Makes each frame silent: a stage may change what the next one hears.
    private final class Mute: CallerStage {
        let name = "mute"
        func process(_ heard: inout HeardFrame) { heard.change(to: EncodedFrame(), wide: nil) }
    }

    /// A loud tone and silence, as μ-law.
    private static let speech: EncodedFrame = {
        var frame = EncodedFrame()
        for index in 0..<EncodedFrame.byteCount { frame.bytes[index] = index % 8 < 4 ? 0x90 : 0x10 }
        return frame
    }()

    private static func chain(muted: Bool = false) -> CallerChain {
        var stages: [any CallerStage] = [
            VoiceActivityStage(.init()), TurnStage(.init(silenceMs: 200)),
            BargeInStage(.init()),
        ]
        if muted { stages.insert(Mute(), at: 0) }
        return CallerChain(stages)
    }

    @Test func theStagesFindTurnsAndInterruptions() {
        var call = CallMoment()
        call.isAISpeaking = true
        call.isInterruptible = true
        var chain = Self.chain()
        var heard = HeardFrame()
        var turns: [TurnEvent] = []
        var interruptions: [Interruption] = []
        for index in 0..<60 {
            heard.begin((20..<40).contains(index) ? Self.speech : EncodedFrame(), in: call)
            chain.process(&heard)
            turns += heard.turns
            interruptions += heard.interruptions
        }
        #expect(turns.first == .speechStarted)
        #expect(turns.contains { if case .speechEnded = $0 { true } else { false } })
        #expect(interruptions == [.pause, .interrupt])
        #expect(chain.readings.map(\.name) == ["voice-activity", "turns", "barge-in"])
        #expect(chain.readings.allSatisfy { $0.frames == 60 && $0.meanMs != nil })
    }

    @Test func aStageChangesWhatTheNextOneHears() {
        var chain = Self.chain(muted: true)
        var heard = HeardFrame()
        for _ in 0..<30 {
            heard.begin(Self.speech)
            chain.process(&heard)
            #expect(heard.turns.isEmpty && !heard.activity.isSpeech)
        }
        #expect(chain.names.first == "mute")
    }

    @Test func theConversationMayShortenTheEndOfATurn() {
        var call = CallMoment()
        var chain = Self.chain()
        var heard = HeardFrame()
        var silence = 0
        for index in 0..<80 {
            if heard.isInTurn { call.endOfTurnSilenceMs = 400 }
            heard.begin((20..<40).contains(index) ? Self.speech : EncodedFrame(), in: call)
            chain.process(&heard)
            if heard.turns.contains(where: { if case .speechEnded = $0 { true } else { false } }) {
                silence = heard.silentMs
            }
        }
        #expect(silence == 400)
    }
}
