import Realtime
import Testing

/// What every conversation goes through, phase by phase.
@Suite struct CallFlowTests {
    private func talking(_ change: (inout ConversationPolicy) -> Void = { _ in }) -> CallFlow {
        var policy = ConversationPolicy()
        change(&policy)
        var flow = CallFlow(policy: policy, language: "en")
        _ = flow.begin()
        return flow
    }

    @Test func itBeginsOnce() {
        var flow = CallFlow(policy: ConversationPolicy(), language: "en")
        #expect(flow.isWaiting)
        #expect(flow.begin() == true)
        #expect(flow.begin() == false)
        #expect(flow.isTalking)
    }

    @Test func silenceIsDueOnceAndOnlyInQuiet() {
        var flow = talking()
        flow.awaitCaller(at: 1_000)
        #expect(flow.due(at: 7_999, isQuiet: true) == .nothing)
        #expect(flow.due(at: 8_000, isQuiet: false) == .nothing)
        #expect(flow.due(at: 8_020, isQuiet: true) == .silence)
        #expect(flow.due(at: 20_000, isQuiet: true) == .nothing)
        flow.awaitCaller(at: 20_000)
        flow.callerBegan()
        #expect(flow.due(at: 60_000, isQuiet: true) == .nothing, "the caller has begun to speak")
    }

    @Test func onHoldSilenceIsBornLonger() {
        var flow = talking()
        #expect(flow.read("Please hold.", mayBeMachine: true) == .hold)
        flow.awaitCaller(at: 0)
        #expect(flow.due(at: 44_999, isQuiet: true) == .nothing)
        #expect(flow.due(at: 45_000, isQuiet: true) == .silence)
    }

    @Test func aGoodbyeIsCutAtItsDeadline() {
        var flow = talking()
        #expect(flow.close(.refused, at: 5_000) == true)
        #expect(flow.close(.taskCompleted, at: 6_000) == false)
        #expect(flow.closing == .refused)
        #expect(flow.due(at: 14_999, isQuiet: true) == .nothing)
        #expect(flow.due(at: 15_000, isQuiet: false) == .hangUp(.refused))
    }

    @Test func aTransferHappensThoughItsAnnouncementDoesNotEnd() {
        var flow = talking()
        flow.transferSaid()
        #expect(!flow.isTransferSaid, "there is no transfer to announce")
        #expect(flow.announceTransfer(at: 1_000) == true)
        #expect(flow.announceTransfer(at: 1_000) == false)
        #expect(flow.isAnnouncingTransfer && !flow.isTransferSaid)
        flow.transferSaid()
        #expect(flow.isTransferSaid)
        #expect(flow.due(at: 10_999, isQuiet: true) == .nothing)
        #expect(flow.due(at: 11_000, isQuiet: true) == .transfer)
        flow.transferBegan()
        #expect(flow.due(at: 99_000, isQuiet: true) == .nothing)
        #expect(flow.close(.maxDuration, at: 99_000) == false)
        #expect(flow.transferFailed() == true)
        #expect(flow.isTalking)
        #expect(flow.transferFailed() == false)
    }

    @Test func aMessageIsLeftAfterTheMachinesGreeting() {
        var flow = talking { $0.voicemailMessage = "Please call back." }
        #expect(flow.foundMachine(isSpeaking: true, at: 1_000) == true)
        #expect(flow.answeredBy == .voicemail && flow.isLeavingMessage)
        flow.callerEnded(at: 5_000)
        #expect(flow.due(at: 6_999, isQuiet: true) == .nothing)
        #expect(flow.due(at: 7_000, isQuiet: true) == .leaveMessage("Please call back."))
        flow.messageBegan(at: 7_000)
        #expect(flow.closing == .voicemail)
        #expect(flow.foundMachine(isSpeaking: false, at: 8_000) == nil, "the call is past that")
    }

    @Test func whoHasTheLineIsToldByWordsAndKeys() {
        var flow = talking()
        #expect(flow.answeredBy == .unknown)
        #expect(flow.read("Please state your name and the reason for your call.", mayBeMachine: true) == .screening)
        #expect(flow.answeredBy == .screening)
        #expect(flow.read("Hello?", mayBeMachine: true) == nil)
        #expect(flow.answeredBy == .human)
        var other = talking()
        other.keyPressed()
        #expect(other.answeredBy == .human)
    }

    @Test func promptsEnd() {
        var flow = talking { $0.silencePrompts = 2 }
        #expect(flow.prompt() == true)
        #expect(flow.prompt() == true)
        #expect(flow.prompt() == false)
        flow.callerAnswered()
        #expect(flow.prompt() == true)
    }
}
