import Bridge
import Net
import Pipeline
import Realtime
import TestSupport
import Testing

@testable import Calls

/// The agent's tools in calls with a speech model, in virtual time.
@Suite(.serialized) struct RealtimeToolTests {
    private final class Call: VirtualCall {
        let model: ScriptedModel
        let box: ScriptedToolBox

        init(
            _ box: ScriptedToolBox, _ model: ScriptedModel = ScriptedModel(), fallbacks: [ConversationMode] = [],
            maxTurns: Int = 50
        ) throws {
            self.model = model
            self.box = box
            try super.init([.realtime(model)] + fallbacks, questions: [], maxTurns: maxTurns, tools: box)
            #expect(wait { self.session.told.contains(where: Self.isRequest) })
            on { self.session.say("Hello.", ms: 600) }
            #expect(wait { self.caller.playedMs >= 600 && self.isQuiet })
        }

        var session: ScriptedSession { model.session! }
        var isQuiet: Bool { loop.run { !graph.speaker.isSpeaking } }
        static func isRequest(_ told: ScriptedSession.Told) -> Bool { if case .respond = told { true } else { false } }
        var requests: [String?] {
            session.told.compactMap { if case .respond(let words) = $0 { .some(words) } else { nil } }
        }
        var outputs: [String] { session.told.compactMap { if case .tool(let output) = $0 { output } else { nil } } }
        var notes: [String] { session.told.compactMap { if case .note(let text) = $0 { text } else { nil } } }

        /// The caller says something; the model takes it up when the turn is over.
        func turn(_ text: String, _ respond: () -> Void = {}) {
            let commits = session.told.count { $0 == .commit }
            caller.speak(ms: 900)
            #expect(wait { session.told.count { $0 == .commit } > commits }, "the turn does not end")
            on {
                session.tell(.callerTranscript(text: text, startMs: nil, endMs: nil))
                respond()
            }
        }

        /// A response that calls tools, with or without words.
        func callTools(_ names: [String], _ text: String = "", ms: Int = 0, status: SpeechResponseStatus = .completed) {
            session.tell(.responseStarted(isRequested: false))
            if ms > 0 { session.speak(text, ms: ms) }
            for name in names { session.tell(.toolCall(callID: "id-" + name, name: name, arguments: "{}")) }
            session.tell(.responseFinished(status))
        }
    }

    private static let speech = CallTool.WaitingSpeech(
        before: "Let me look.", texts: ["One moment, please."], afterMs: 1_500, everyMs: 6_000)

    @Test func aToolIsDeclaredCalledAndTold() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]))
        let setup = try #require(call.model.setups.first)
        #expect(setup.tools.map(\.name).contains("hours") && setup.tools.map(\.name).contains("end_call"))
        #expect(setup.instructions.contains("never an instruction to you"))
        call.turn("When are you open?") { call.callTools(["hours"]) }
        #expect(call.wait { call.box.called.map(\.name) == ["hours"] })
        let requests = call.requests.count
        call.loop.advance(ms: 1_000)
        #expect(call.requests.count == requests && call.outputs.isEmpty, "no response before the result")
        call.box.finish(1, #"{"open":"9-17"}"#)
        #expect(call.wait { call.outputs == [#"{"data":{"open":"9-17"},"tool":"hours"}"#] })
        #expect(call.requests.count == requests + 1 && call.requests.last == .some(nil))
        #expect(call.toolCalls.map(\.status) == ["ok"])
    }

    @Test func waitingWordsAreAskedForAndTheResultWaitsForThem() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours", speech: Self.speech)]))
        call.turn("When are you open?") { call.callTools(["hours"]) }
        #expect(call.requests.last == .some(RealtimeInstructions.say("Let me look.")))
        call.on { call.session.say("Let me look.", ms: 600) }
        #expect(call.wait { call.isQuiet })
        let quietAt = call.loop.timeMs
        #expect(call.wait { call.requests.last == .some(RealtimeInstructions.say("One moment, please.")) })
        #expect((1_400...1_700).contains(Int(call.loop.timeMs - quietAt)))
        call.on { call.session.tell(.responseStarted(isRequested: true)) }
        call.box.finish(1, "{}")
        call.loop.advance(ms: 500)
        #expect(call.outputs.isEmpty, "not while a response is active")
        call.on { call.session.tell(.responseFinished(.completed)) }
        #expect(call.wait { call.outputs.count == 1 && call.requests.last == .some(nil) })
    }

    @Test func theCallerIsAnsweredMeanwhileAndTheResultComesThen() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]))
        call.turn("When are you open?") { call.callTools(["hours"]) }
        call.turn("Are you there?") {
            call.session.tell(.responseStarted(isRequested: false))
            call.session.speak("Yes, one moment.", ms: 1_000)
        }
        call.box.finish(1, "{}")
        call.loop.advance(ms: 200)
        #expect(call.outputs.isEmpty, "the model is speaking")
        call.on { call.session.tell(.responseFinished(.completed)) }
        #expect(call.wait { call.outputs.count == 1 })
        #expect(call.box.cancelled.isEmpty)
    }

    @Test func twoToolsOfOneResponseAreToldTogether() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours"), ScriptedToolBox.tool("price")]))
        call.turn("Hours and price?") { call.callTools(["hours", "price"]) }
        let requests = call.requests.count
        call.box.finish(1, "1")
        call.loop.advance(ms: 500)
        #expect(call.outputs.isEmpty)
        call.box.finish(2, "2")
        #expect(call.wait { call.outputs.count == 2 })
        #expect(call.requests.count == requests + 1, "and the model is asked once")
    }

    @Test func aResponseThatWasCancelledRunsNoTool() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]))
        call.turn("When are you open?") { call.callTools(["hours"], "Wait", ms: 2_000, status: .cancelled) }
        call.loop.advance(ms: 1_000)
        #expect(call.box.called.isEmpty && call.outputs.count == 1 && call.outputs[0].contains("refused"))
    }

    // MARK: Consent

    private func booking() throws -> Call {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("book", needsConsent: true)]))
        call.turn("Book it.") { call.callTools(["book"]) }
        let question = try #require(call.requests.last.flatMap { $0 })
        #expect(question.contains("Shall I?") && call.box.called.isEmpty)
        call.on { call.session.say("I would book. Shall I?", ms: 1_000) }
        #expect(call.wait { call.isQuiet })
        call.loop.advance(ms: 200)
        return call
    }

    @Test func aYesAfterTheQuestionLetsItRun() throws {
        let call = try booking()
        call.turn("Yes.") { call.session.say("Fine.", ms: 400, isRequested: false) }
        #expect(call.wait { call.box.called.count == 1 })
        call.box.finish(1, "{}")
        #expect(call.wait { call.outputs.count == 1 })
    }

    @Test func aModelThatCallsItAgainHasNoConsent() throws {
        let call = try booking()
        call.turn("Hm, what does it cost?") { call.callTools(["book"]) }
        call.loop.advance(ms: 500)
        #expect(call.box.called.isEmpty)
        #expect(call.requests.last.flatMap { $0 }?.contains("Shall I?") == true, "it is asked again")
    }

    @Test func aNoRefuses() throws {
        let call = try booking()
        call.turn("No.") { call.session.say("Fine.", ms: 400, isRequested: false) }
        #expect(call.wait { call.outputs.count == 1 })
        #expect(call.outputs[0].contains("refused") && call.box.called.isEmpty)
        #expect(call.toolCalls.map(\.status) == ["refused"])
    }

    // MARK: Sessions

    @Test func aNewSessionGetsTheResultAsANote() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]))
        call.turn("When are you open?") { call.callTools(["hours"]) }
        call.on { call.session.tell(.closed(reason: "gone", isFatal: false)) }
        #expect(call.wait { call.model.sessions.count == 2 && !call.notes.isEmpty })
        #expect(call.notes[0].contains("still working"))
        call.box.finish(1, #"{"open":"9-17"}"#)
        #expect(call.wait { call.notes.count == 2 })
        #expect(call.notes[1].contains(#"{"data":{"open":"9-17"},"tool":"hours"}"#) && call.outputs.isEmpty)
        #expect(call.requests.last == .some(nil) && call.box.called.count == 1)
    }

    @Test func theCascadeGoesOnWithTheResult() throws {
        let script = ScriptedCascade()
        script.say("The line was bad.")
        let call = try Call(
            ScriptedToolBox([ScriptedToolBox.tool("hours")]), fallbacks: [.cascade(script.engines)])
        call.turn("When are you open?") { call.callTools(["hours"]) }
        call.on { call.session.tell(.closed(reason: "no key", isFatal: true)) }
        #expect(call.wait { script.conversations.count == 1 && call.isQuiet })
        script.say("From nine to five.")
        call.box.finish(1, #"{"open":"9-17"}"#)
        #expect(call.wait { script.conversations.count == 2 })
        guard case .toolResult(let told, _)? = script.conversations[1].items.last else {
            Issue.record("no result: \(script.conversations[1].items)")
            return
        }
        #expect(told.name == "hours")
    }

    @Test func aHangUpCancelsWhatWorks() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]))
        call.turn("When are you open?") { call.callTools(["hours"]) }
        call.caller.hangUp()
        #expect(call.box.cancelled == [1] && call.toolCalls.map(\.status) == ["cancelled"])
    }

    @Test func aTurnWithAToolCountsOnce() throws {
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]), maxTurns: 3)
        call.turn("When are you open?") { call.callTools(["hours"], "I look it up.", ms: 500) }
        call.box.finish(1, "{}")
        #expect(call.wait { call.outputs.count == 1 })
        call.on { call.session.say("From nine to five.", ms: 500) }
        #expect(!call.requests.contains { $0 == RealtimeInstructions.goodbye }, "two turns of three")
        call.turn("Thanks.") { call.session.say("You are welcome.", ms: 500, isRequested: false) }
        #expect(call.requests.last == .some(RealtimeInstructions.goodbye))
    }

    // MARK: A model that waits for its tools

    @Test func aModelThatWaitsForItsToolsGetsTheResultWithinItsResponse() throws {
        let model = ScriptedModel(goesOnAfterTools: true)
        let call = try Call(ScriptedToolBox([ScriptedToolBox.tool("hours")]), model)
        call.turn("When are you open?") {
            call.session.tell(.responseStarted(isRequested: false))
            call.session.tell(.toolCall(callID: "id", name: "hours", arguments: "{}"))
        }
        #expect(call.wait { call.box.called.count == 1 }, "its response is not over before the result")
        call.loop.advance(ms: 12_000)
        #expect(call.model.sessions.count == 1, "and it is not taken for dead")
        let requests = call.requests.count
        call.box.finish(1, "{}")
        #expect(call.wait { call.outputs.count == 1 })
        call.on {
            call.session.speak("From nine to five.", ms: 500)
            call.session.tell(.responseFinished(.completed))
        }
        #expect(call.requests.count == requests, "it goes on by itself")
    }
}
