import Realtime
import Testing

/// What a tool means, and what the model is told of its call.
@Suite struct DialogueToolTests {
    @Test(arguments: [
        ("report_task_state", "{}", DialogueDecision.report("{}", endsCall: false)),
        (
            "report_task_state", #"{"should_end_call":true}"#,
            .report(#"{"should_end_call":true}"#, endsCall: true)
        ),
        (
            "report_task_state", #"{"should_end_call":"maybe"}"#,
            .report(#"{"should_end_call":"maybe"}"#, endsCall: false)
        ),
        ("end_call", #"{"reason":"callee_busy"}"#, .end(.calleeBusy)),
        ("end_call", #"{"reason":"boredom"}"#, .end(.taskCompleted)), ("end_call", "nonsense", .end(.taskCompleted)),
        ("transfer_to_operator", "{}", .transfer),
        ("send_dtmf", ##"{"digits":"1*#D"}"##, .press("1*#D")), ("send_dtmf", #"{"digits":"x"}"#, .noKeys),
        ("send_dtmf", #"{"digits":"123456789012345678901234567890123"}"#, .noKeys), ("send_dtmf\n", "{}", .unknown),
        ("run_shell", "{}", .unknown),
    ])
    func aToolHasOneMeaning(tool: String, arguments: String, decision: DialogueDecision) {
        #expect(DialogueDecision(tool: tool, arguments: arguments, canTransfer: true) == decision)
    }

    @Test func aTransferThatIsNotOfferedIsNoTool() {
        #expect(DialogueDecision(tool: "transfer_to_operator", arguments: "{}", canTransfer: false) == .unknown)
    }

    @Test func theModelIsToldWhatHasHappenedAndNotMore() {
        let tracker = TaskTracker(questions: [Question(id: "q1", text: "Will you come?")])
        #expect(DialogueDecision.report("{}", endsCall: false).output(tracker) == #"{"ok":true,"pending":["q1"]}"#)
        #expect(!DialogueDecision.press("1").output(tracker).contains("ok"), "no key has been sent yet")
        #expect(DialogueDecision.pressed(false) == #"{"error":"this line takes no keys"}"#)
        #expect(DialogueDecision.end(.refused).output(tracker) == #"{"ok":true}"#)
        #expect(DialogueDecision.end(.refused).output(tracker, wantsGoodbye: true).contains("goodbye"))
        #expect(DialogueDecision.unknown.output(tracker) == #"{"error":"there is no such tool"}"#)
    }

    private func greeted() -> DialogueMachine {
        var machine = DialogueMachine(brief: Brief(purpose: "x", questions: []), canRecognizeSpeech: true)
        _ = machine.mediaStarted(at: 0)
        return machine
    }

    /// A reason that the response gives itself counts more than the report's word that the call is over.
    @Test func aReportEndsTheCallUnlessTheModelSaysWhy() {
        for (reason, expected) in [(nil, EndReason.taskCompleted), ("refused", .refused)] {
            var machine = greeted()
            _ = machine.model(
                .toolCall(name: "report_task_state", arguments: #"{"should_end_call":true}"#), generation: 1, at: 10)
            _ = machine.model(.text("Goodbye. "), generation: 1, at: 20)
            if let reason {
                _ = machine.model(
                    .toolCall(name: "end_call", arguments: #"{"reason":"\#(reason)"}"#), generation: 1, at: 30)
            }
            _ = machine.modelFinished(generation: 1, at: 40)
            #expect(machine.isClosing)
            #expect(
                machine.turnHeard("Goodbye.", turn: 1, isInterrupted: false, at: 900) == [.hangUp(expected)])
        }
    }

    @Test func theModelLearnsThatALineTakesNoKeys() {
        var machine = greeted()
        let press = machine.model(
            .toolCall(name: "send_dtmf", arguments: #"{"digits":"2"}"#), generation: 1, at: 10)
        #expect(press == [.press("2")])
        #expect(machine.pressed(true).isEmpty)
        #expect(!machine.conversation.items.contains(.keysRefused))
        #expect(machine.pressed(false) == [.warning("this line takes no keys")])
        #expect(machine.conversation.items.last == .keysRefused)
    }
}
