import Net
import Realtime
import TestSupport
import Testing

@testable import Calls

/// Carriers that send nothing while the caller says nothing. Virtual time.
@Suite(.serialized) struct QuietLineTests {
    /// The caller answers once, and is silent then; what the model was told of both.
    private func call(sendsSilence: Bool) throws -> (asked: [ConversationItem?], silences: [Int], ms: Int) {
        let script = ScriptedCascade()
        script.say("Will you come?")
        let call = try VirtualCall([.cascade(script.engines)])
        defer { script.releaseRecognizer() }
        call.on { call.caller.sendsSilence = sendsSilence }
        #expect(call.wait { call.caller.playedMs >= 500 })
        #expect(call.wait { call.loop.run { !call.graph.speaker.isSpeaking } })
        script.hear("Yes, I will.")
        script.say("Thank you.")
        script.respond(.text("Goodbye."), .toolCall(name: "end_call", arguments: #"{"reason":"silence"}"#))
        call.caller.speak(ms: 900)
        var passed = 0
        while call.outcome == nil, passed < 40_000 {
            call.loop.advance(ms: 20)
            passed += 20
        }
        #expect(call.outcome?.endReason == .silence)
        return (script.conversations.map(\.items.last), script.conversations.map(\.silencesInARow), passed)
    }

    @Test func aTurnEndsAndSilenceIsNoticedAsOnALineThatSendsSilence() throws {
        let quiet = try call(sendsSilence: false)
        let usual = try call(sendsSilence: true)
        #expect(quiet.asked == usual.asked && quiet.silences == usual.silences)
        #expect(quiet.asked.contains(.caller("Yes, I will.")) && quiet.silences.last == 1)
        #expect(abs(quiet.ms - usual.ms) <= 20)
    }
}
