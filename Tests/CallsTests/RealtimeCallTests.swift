import Bridge
import Net
import Pipeline
import Realtime
import TestSupport
import Testing

@testable import Calls

/// Calls with a speech model in virtual time: frames, the graph, the machine, the keeper and the pacer, but no socket.
@Suite(.serialized) struct RealtimeCallTests {
    /// A call with a scripted speech model.
    private final class Call: VirtualCall {
        let model: ScriptedModel

        init(_ model: ScriptedModel = ScriptedModel(), _ change: (inout CallGraph.Settings) -> Void = { _ in }) throws {
            self.model = model
            try super.init([.realtime(model)], change)
        }

        var session: ScriptedSession { model.session! }

        /// The caller says something, and the model answers when the turn is over.
        func turn(ms: Int = 900, _ text: String, answer: String, answerMs: Int) {
            let commits = session.told.count { $0 == .commit }
            caller.speak(ms: ms)
            #expect(wait { session.told.count { $0 == .commit } > commits }, "the turn does not end")
            on {
                session.tell(.callerTranscript(text: text, startMs: nil, endMs: nil))
                session.say(answer, ms: answerMs, isRequested: false)
            }
        }
    }

    @Test func aCallFromItsGreetingToItsGoodbye() throws {
        let call = try Call()
        #expect(call.wait { call.session.told.contains { if case .respond = $0 { true } else { false } } })
        call.on { call.session.say("Hello, will you come?", ms: 2_000) }
        #expect(call.wait { call.caller.playedMs >= 2_000 })
        call.turn("Yes, I will.", answer: "Thank you.", answerMs: 600)
        #expect(call.wait { call.caller.playedMs >= 2_600 })
        call.loop.advance(ms: 200)
        call.on {
            call.session.say("Goodbye.", ms: 500, tool: ("end_call", #"{"reason":"task_completed"}"#))
        }
        #expect(call.wait { call.outcome != nil })
        let outcome = try #require(call.outcome)
        #expect(outcome.endReason == .taskCompleted && outcome.answeredBy == .human)
        #expect(
            outcome.transcript.map(\.text) == ["Hello, will you come?", "Yes, I will.", "Thank you.", "Goodbye."])
        #expect(outcome.transcript.allSatisfy { !$0.isInterrupted })
        let graph = try #require(outcome.graph)
        #expect(graph.mode == "realtime/scripted" && graph.edges.allSatisfy { $0.limit > 0 && $0.dropped == 0 })
        #expect(graph.stages.map(\.name).last == "pacer")
    }

    @Test func tenInterruptionsAndEverybodyAgrees() throws {
        let call = try Call()
        call.on { call.session.say("A greeting that nobody listens to.", ms: 5_000) }
        for number in 1...10 {
            let before = call.caller.playedMs
            #expect(call.wait { call.caller.playedMs >= before + 600 }, "turn \(number) is not heard")
            call.turn("No, number \(number).", answer: "Answer \(number) goes on and on.", answerMs: 5_000)
            #expect(call.caller.clears == number)
            let truncated = call.session.told.compactMap { told -> Int? in
                if case .truncate(_, let heardMs) = told { heardMs } else { nil }
            }
            #expect(truncated.count == number)
        }
        #expect(call.wait { call.caller.playedMs > 0 })
        call.caller.hangUp()
        let outcome = try #require(call.outcome)
        #expect(outcome.endReason == .calleeHangup && outcome.interruptions == 10)
        let ours = outcome.transcript.filter { $0.speaker == .ai }
        // What the model is told to remember is what the caller heard.
        let truncated = call.session.told.compactMap { told -> Int? in
            if case .truncate(_, let heardMs) = told { heardMs } else { nil }
        }
        for (entry, heardMs) in zip(ours, truncated) {
            #expect(entry.isInterrupted && abs(entry.endMs - entry.startMs - heardMs) <= 20)
        }
        #expect(outcome.transcript.count { $0.speaker == .customer } == 10)
    }

    @Test func aSessionIsReplacedInAQuietMoment() throws {
        let call = try Call()
        call.on { call.session.say("Hello.", ms: 600) }
        call.on { call.session.tell(.expiring) }
        call.loop.advance(ms: 200)
        #expect(call.model.sessions.count == 1, "not while we speak")
        #expect(call.wait { call.model.sessions.count == 2 })
        call.loop.advance(ms: 100)
        #expect(call.model.sessions[0].told.last == .close)
        #expect(call.model.setups[1].history.count == 1, "the next session knows what was said")
        let heard = call.session.heardBytes
        call.turn("Are you still there?", answer: "Still here.", answerMs: 600)
        #expect(call.session.heardBytes > heard + 900 * 8)
        #expect(call.wait { call.caller.playedMs >= 1_200 })
        #expect(!call.session.told.contains { if case .respond = $0 { true } else { false } }, "nothing is said twice")
    }

    @Test func aSessionThatBreaksIsOpenedAgainAndHearsWhatItMissed() throws {
        let call = try Call()
        call.on { call.session.say("Hello.", ms: 600) }
        #expect(call.wait { call.caller.playedMs >= 600 })
        call.model.isReadyAtOnce = false
        call.on { call.session.tell(.closed(reason: "gone", isFatal: false)) }
        call.caller.speak(ms: 400)
        #expect(call.wait { call.model.sessions.count == 2 })
        call.loop.advance(ms: 400)
        #expect(call.session.heardBytes == 0)
        let waiting = try #require(call.loop.run { call.graph.reading.edges.first { $0.name == "heard" } })
        #expect(waiting.depth >= 20 && waiting.whenFull == .dropOldest)
        call.on { call.session.tell(.ready) }
        #expect(call.session.heardBytes >= 400 * 8)
    }

    @Test func aModelThatNobodyCanReachEndsTheCall() throws {
        let call = try Call()
        for attempt in 1...4 {
            #expect(call.wait { call.model.sessions.count == attempt })
            call.on { call.session.tell(.closed(reason: "no route", isFatal: false)) }
        }
        #expect(call.wait { call.outcome != nil })
        #expect(call.outcome?.endReason == .providerError && call.outcome?.failure == "scripted: no route")
    }

    @Test func aTransferThatFailsComesBack() throws {
        let call = try Call()
        call.on { call.session.say("Hello.", ms: 400) }
        #expect(call.wait { call.caller.playedMs >= 400 })
        call.on {
            call.session.say("I put you through.", ms: 600, tool: ("transfer_to_operator", "{}"))
        }
        #expect(!call.isTransferWanted, "the caller is told first")
        #expect(call.wait { call.isTransferWanted })
        #expect(call.caller.playedMs == 1_000)
        call.on { call.graph.playMusic() }
        call.loop.advance(ms: 1_000)
        #expect(call.caller.playedMs >= 1_900, "the caller hears music")
        let asked = call.session.told.count
        call.on { call.graph.transferFailed("busy") }
        #expect(call.session.told.count == asked + 2, "the model knows, and speaks")
        call.on { call.session.say("Nobody is free. Can I help?", ms: 600) }
        call.turn("No, thank you.", answer: "Goodbye.", answerMs: 400)
        call.caller.hangUp()
        #expect(call.outcome?.endReason == .calleeHangup)
    }

    @Test func aModelThatRunsAheadIsNotReadUntilHalfIsSpoken() throws {
        let call = try Call()
        call.on { call.session.say("A very long story.", ms: 40_000) }
        #expect(call.session.isPaused)
        let edge = try #require(call.loop.run { call.graph.reading.edges.first { $0.name == "speech" } })
        #expect(edge.waits == 1 && edge.dropped == 0 && edge.limit == 1_500)
        #expect(!call.wait(20_000) { !call.session.isPaused })
        #expect(call.wait(10_000) { !call.session.isPaused })
        #expect(call.outcome == nil, "its silence meanwhile is ours")
    }

    @Test func aSilentCallerIsPromptedTwiceAndLeft() throws {
        let call = try Call()
        func requests() -> Int { call.session.told.count { if case .respond = $0 { true } else { false } } }
        for prompts in 1...4 {
            #expect(call.wait(20_000) { requests() == prompts })
            call.on { call.session.say("Hello?", ms: 400) }
        }
        #expect(call.wait { call.outcome != nil })
        #expect(call.outcome?.endReason == .silence)
        #expect(call.outcome?.transcript.map(\.text) == ["Hello?", "Hello?", "Hello?", "Hello?"])
        #expect(call.caller.playedMs == 1_600, "the goodbye is played to its end")
    }

    @Test func keysReachTheModel() throws {
        let call = try Call()
        call.on { call.session.say("Press one for yes.", ms: 3_000) }
        call.loop.advance(ms: 500)
        call.caller.press("1")
        #expect(call.session.told.contains(.note("[The caller pressed the key 1.]")))
        #expect(call.caller.clears == 1)
    }
}
