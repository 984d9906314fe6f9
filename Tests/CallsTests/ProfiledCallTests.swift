import Agents
import Foundation
import Net
import Pipeline
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// Calls whose agent says how they are held, in virtual time: in a cascade and with a speech model.
@Suite(.serialized) struct ProfiledCallTests {
    private static let brief = Brief(
        purpose: "to ask", questions: [Question(id: "q1", text: "Will you come?")], maxTurns: 50)

    private static func call(_ change: (inout AgentProfile) -> Void) -> Calls.Call {
        var call = Calls.Call(localNumber: "1", remoteNumber: "2", brief: brief, createdAt: Date())
        var profile = AgentProfile()
        change(&profile)
        call.profile = profile
        return call
    }

    private static func settings(
        of all: CallSettings = CallSettings(), _ change: (inout AgentProfile) -> Void
    ) -> CallGraph.Settings {
        all.conversation(of: call(change), canTransfer: true)
    }

    private final class Cascade: VirtualCall {
        let script = ScriptedCascade()
        init(_ change: (inout AgentProfile) -> Void) throws {
            let settings = ProfiledCallTests.settings(change)
            try super.init([.cascade(script.engines)]) { $0 = settings }
        }
        var said: [String] { loop.run { graph.transcript.entries.filter { $0.speaker == .ai }.map(\.text) } }
    }

    private final class Speech: VirtualCall {
        let model = ScriptedModel()
        init(knowledge: KnowledgeBriefing? = nil, _ change: (inout AgentProfile) -> Void) throws {
            let settings = ProfiledCallTests.settings(change)
            try super.init([.realtime(model, knowledge: knowledge)]) { $0 = settings }
        }
        var asked: [String?] {
            model.session?.told.compactMap { if case .respond(let words) = $0 { .some(words) } else { nil } } ?? []
        }
    }

    // MARK: Settings

    @Test func whatTheAgentSaysTakesThePlaceOfTheSettings() {
        var all = CallSettings()
        all.conversation.policy.silencePromptMs = 9_000
        all.conversation.policy.disclosure = "This is an AI."
        let own = Self.settings(of: all) {
            $0.turns.finishedMs = 200
            $0.turns.bargeInConfirmMs = 300
            $0.turns.silencePromptMs = 5_000
            $0.turns.speaksFirst = false
            $0.consentLine = "This call is recorded."
        }
        #expect(own.policy.endOfTurn.finishedMs == 200 && own.bargeIn.confirmMs == 300)
        #expect(own.policy.silencePromptMs == 5_000 && !own.policy.speaksFirst)
        #expect(own.policy.disclosure == "This is an AI. This call is recorded.")
        let plain = Self.settings(of: all) { _ in }
        #expect(plain.policy == all.conversation(of: Self.call { _ in }, canTransfer: true).policy)
        #expect(plain.policy.silencePromptMs == 9_000 && plain.policy.disclosure == "This is an AI.")
    }

    @Test(arguments: [(true, true, true), (true, false, false), (false, true, true), (false, nil, false)])
    func consentIsAskedOnlyWhereTheCallIsRecorded(all: Bool, own: Bool?, isRecorded: Bool) {
        var settings = CallSettings()
        settings.savesRecording = all
        let call = Self.call {
            $0.savesRecording = own
            $0.consentLine = "This call is recorded."
        }
        #expect(settings.savesRecording(of: call) == isRecorded)
        #expect(
            settings.conversation(of: call, canTransfer: false).policy.disclosure
                == (isRecorded ? "This call is recorded." : nil))
    }

    @Test func theAgentsTurnsAreTheCalls() {
        #expect(Self.call { $0.maxTurns = 3 }.conversationBrief.maxTurns == 3)
        #expect(Self.call { _ in }.conversationBrief.maxTurns == 50)
    }

    @Test func theProfileIsKeptWithTheCallAndOldCallsHaveNone() throws {
        var call = Self.call {
            $0.mode = .embedded
            $0.knowledge.sets = ["salon"]
        }
        call.agent = AgentReference(slug: "salon", version: 7)
        let json = try JSONEncoder().encode(call)
        let again = try JSONDecoder().decode(Calls.Call.self, from: json)
        #expect(again.profile == call.profile && again.agent == call.agent)
        var object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        object["profile"] = nil
        object["agent"] = nil
        let old = try JSONDecoder().decode(
            Calls.Call.self, from: try JSONSerialization.data(withJSONObject: object))
        #expect(old.profile == nil && old.agent == nil)
    }

    @Test func whatIsAskedForIsTheCallsOwn() throws {
        var line = try SIPWorld().line
        line.modes = { request, _ in
            request.profile?.mode == .realtime ? [] : [.cascade(ScriptedCascade().engines)]
        }
        #expect(line.cascade(of: Self.call { $0.mode = .cascade }, UsageMeter()) != nil)
        #expect(line.cascade(of: Self.call { $0.mode = .realtime }, UsageMeter()) == nil)
    }

    @Test(arguments: [(true, false), (false, true)]) func theAgentDecidesWhatIsRecorded(all: Bool, own: Bool) throws {
        let world = try SIPWorld { $0.savesRecording = all }
        let journal = CallJournal(
            Self.call { $0.savesRecording = own }, carrier: "sip", store: world.store, settings: world.settings,
            logger: world.line.logger, now: { Date() })
        #expect((journal.recordingName != nil) == own)
    }

    @Test func aFinishedSentenceEndsTheTurnAsTheAgentSays() {
        var machine = DialogueMachine(
            brief: Self.brief, canRecognizeSpeech: true, policy: Self.settings { $0.turns.finishedMs = 150 }.policy)
        _ = machine.mediaStarted(at: 0)
        _ = machine.speechStarted(at: 1_000)
        #expect(machine.transcript(.interim("Yes, I will come."), at: 1_500).contains(.awaitSilence(ms: 150)))
    }

    // MARK: In a cascade

    @Test func aCascadeSaysTheFirstMessageAndTheClosing() throws {
        let call = try Cascade {
            $0.disclosure = "An AI is calling."
            $0.firstMessage = "Salon Ann, good day!"
            $0.closing = "See you on Friday!"
        }
        #expect(call.wait { call.caller.playedMs >= 1_400 } && call.script.conversations.isEmpty)
        call.script.hear("Hello.")
        call.script.respond(.toolCall(name: "end_call", arguments: #"{"reason":"task_completed"}"#))
        call.loop.advance(ms: 500)
        call.caller.speak(ms: 900)
        #expect(call.wait { call.outcome != nil })
        #expect(
            call.outcome?.transcript.map(\.text)
                == ["An AI is calling. Salon Ann, good day!", "Hello.", "See you on Friday!"])
        #expect(call.outcome?.endReason == .taskCompleted)
        #expect(call.script.conversations.first?.character?.closing == "See you on Friday!")
    }

    @Test func aCascadeWaitsForTheOtherPartyIfItIsTo() throws {
        let call = try Cascade {
            $0.firstMessage = "Salon Ann."
            $0.turns.speaksFirst = false
        }
        call.loop.advance(ms: 3_000)
        #expect(call.caller.playedMs == 0)
        call.script.hear("Yes?")
        call.caller.speak(ms: 600)
        #expect(call.wait { call.said == ["Salon Ann."] } && call.script.conversations.isEmpty)
    }

    @Test func silenceIsPromptedAsTheAgentSays() throws {
        let call = try Cascade {
            $0.firstMessage = "Salon Ann."
            $0.turns.silencePromptMs = 2_000
        }
        #expect(call.wait { call.said == ["Salon Ann."] })
        call.loop.advance(ms: 1_500)
        #expect(call.script.conversations.isEmpty)
        #expect(call.wait(2_000) { call.script.conversations.first?.items.last == .silence })
    }

    @Test(arguments: [(200, true), (3_000, false)])
    func whatInterruptsIsTheAgentsChoice(confirmMs: Int, isInterrupted: Bool) throws {
        let call = try Cascade {
            $0.firstMessage = "This is a long first message, which goes on, and on, and on, and does not end soon."
            $0.turns.bargeInConfirmMs = confirmMs
        }
        #expect(call.wait { call.caller.playedMs >= 500 })
        call.caller.speak(ms: 700)
        call.loop.advance(ms: 700)
        #expect(call.loop.run { call.graph.interruptionCount } == (isInterrupted ? 1 : 0))
    }

    // MARK: By turns

    @Test func aCallByTurnsSaysThemToo() async throws {
        let world = try SIPWorld { $0.savesRecording = false }
        let script = ScriptedCascade()
        let call = Self.call {
            $0.firstMessage = "Salon Ann."
            $0.closing = "Bye!"
        }
        _ = try await world.store.insert(call, events: [])
        let journal = CallJournal(
            call, carrier: "twilio", store: world.store, settings: world.settings, logger: world.line.logger,
            now: { Date() })
        let turns = TurnBasedCall(call: call, engines: script.engines, settings: world.settings, journal: journal) {}
        // 40 ms a character, 16 bytes a millisecond, and the head of a WAV.
        let first = await turns.begin()
        #expect(first.audio.count == 44 + 16 * 40 * "Salon Ann.".count && script.conversations.isEmpty)
        script.respond(.toolCall(name: "end_call", arguments: #"{"reason":"task_completed"}"#))
        let last = await turns.turn(after: 1, heard: .keys("1"))
        #expect(last.audio.count == 44 + 16 * 40 * "Bye!".count && last.isLast)
        await turns.hangUp(.calleeHangup)
        await journal.close()
        #expect(try await world.store.transcript(of: call.id).first?.text == "Salon Ann.")
    }

    // MARK: With a speech model

    @Test func aSpeechModelIsToldToSayThemExactly() throws {
        let call = try Speech {
            $0.role = "You are Ann."
            $0.disclosure = "An AI is calling."
            $0.firstMessage = "Salon Ann, good day!"
            $0.closing = "See you on Friday!"
        }
        #expect(call.wait { !call.asked.isEmpty })
        #expect(call.asked == [RealtimeInstructions.say("An AI is calling. Salon Ann, good day!")])
        #expect(call.model.setups.first?.instructions.contains("You are Ann.") == true)
        call.on { call.model.session?.say("Salon Ann, good day!", ms: 600) }
        #expect(call.wait { call.caller.playedMs >= 600 })
        call.loop.advance(ms: 200)
        call.on {
            call.model.session?.say("", ms: 0, tool: ("end_call", #"{"reason":"task_completed"}"#))
        }
        #expect(call.asked.last == RealtimeInstructions.say("See you on Friday!"))
        call.on { call.model.session?.say("See you on Friday!", ms: 400) }
        #expect(call.wait { call.outcome?.endReason == .taskCompleted })
        #expect(call.caller.playedMs >= 1_000, "to its end")
    }

    @Test func aSpeechModelThatSpeaksSecondIsToldHowToBegin() throws {
        let call = try Speech {
            $0.disclosure = "An AI speaks."
            $0.firstMessage = "Salon Ann."
            $0.turns.speaksFirst = false
        }
        call.loop.advance(ms: 1_000)
        #expect(call.asked.isEmpty)
        #expect(call.model.setups.first?.instructions.hasSuffix(": An AI speaks. Salon Ann.") == true)
    }

    @Test func aSpeechModelPromptsAndIsInterruptedAsTheAgentSays() throws {
        let call = try Speech {
            $0.turns.silencePromptMs = 2_000
            $0.turns.bargeInConfirmMs = 200
        }
        #expect(call.wait { !call.asked.isEmpty })
        call.on { call.model.session?.say("Hello, will you come?", ms: 400) }
        #expect(call.wait { call.caller.playedMs >= 400 })
        #expect(call.wait(2_400) { call.asked.last == RealtimeInstructions.silence })
        call.on { call.model.session?.say("Are you still there? Hello, hello, hello, hello.", ms: 3_000) }
        #expect(call.wait { call.caller.playedMs >= 900 })
        call.caller.speak(ms: 400)
        call.loop.advance(ms: 400)
        #expect(call.loop.run { call.graph.interruptionCount } == 1)
    }

    @Test func theLastTurnOfASpeechModelIsTheAgents() throws {
        let model = ScriptedModel()
        let settings = Self.settings { $0.closing = "Bye!" }
        var machine = RealtimeMachine(
            brief: Self.call { $0.maxTurns = 1 }.conversationBrief, policy: settings.policy, name: model.name)
        let moment = RealtimeMachine.Moment(now: 0, isSpeaking: false, transcriptCount: 0)
        _ = machine.mediaStarted(moment)
        _ = machine.sessionReady(moment)
        _ = machine.responseStarted(isRequested: true, moment)
        _ = machine.sounded(at: 0)
        #expect(
            machine.responseFinished(.completed, moment).contains(.respond(RealtimeInstructions.say("Bye!"))))
    }

    private struct Known: Knowledge {
        func search(_ question: String, limit: Int) async -> [KnowledgeHit] { [] }
        func pairs(limit: Int) async -> [Brief.Fact] { [.init(question: "Open on Sundays?", answer: "At noon.")] }
    }

    @Test func aSpeechModelKnowsThePairsOfItsSets() throws {
        let call = try Speech(knowledge: KnowledgeBriefing(Known(), answersDirectly: true)) { $0.role = "Ann." }
        #expect(call.wait { !call.model.setups.isEmpty })
        #expect(
            call.model.setups.first?.instructions.contains(
                "say its answer word for word:\n<<<\n- Open on Sundays? — At noon.\n>>>") == true)
    }
}
