import Testing

@testable import Bridge

@Suite struct TelnyxEventTests {
    private let id = "v3:9X2vxPDFY2RHSJ1EdMS0RHRksMTg7ldNxdjWbVr9zBjbGjGsSe-aiQ"

    private func event(_ type: String, _ payload: String = "") throws -> TelnyxEvent {
        let more = payload.isEmpty ? "" : "," + payload
        return try TelnyxEvent(
            Array(
                #"{"data":{"event_type":"\#(type)","payload":{"call_control_id":"\#(id)"\#(more)},"x":[1]},"meta":{}}"#
                    .utf8))
    }

    @Test(
        arguments: [
            ("call.initiated", .begun(isIncoming: false)), ("call.answered", .answered), ("call.hangup", .ended),
            ("call.machine.detection.ended", .recognised), ("call.machine.premium.detection.ended", .recognised),
            ("call.speak.ended", .spoken), ("streaming.failed", .streamFailed), ("streaming.started", .other),
            ("streaming.stopped", .other), ("call.bridged", .other), ("call.something.new", .other),
        ] as [(String, TelnyxEvent.Kind)])
    func kindsAreUnderstood(type: String, kind: TelnyxEvent.Kind) throws {
        let event = try event(type)
        #expect(event.kind == kind && event.callID == id)
    }

    @Test func aCallThatComesInHasItsNumbers() throws {
        let event = try event(
            "call.initiated", #""direction":"incoming","from":"+15550100","to":"+15550199","client_state":null"#)
        #expect(event.kind == .begun(isIncoming: true) && event.from == "+15550100" && event.to == "+15550199")
        #expect(event.state == nil)
    }

    @Test func anEndHasCauseCodeAndState() throws {
        let state = TelnyxState.placed(callID: "out-1")
        let event = try event(
            "call.hangup",
            #""hangup_cause":"user_busy","sip_hangup_cause":"486","client_state":"\#(state.text)""#)
        #expect(event.hangupCause == "user_busy" && event.sipCode == 486 && event.state == state)
    }

    @Test(arguments: [#""unspecified""#, #""99999""#, "null", "{}"]) func aCodeThatIsNoneIsNil(code: String) throws {
        #expect(try event("call.hangup", #""sip_hangup_cause":\#(code)"#).sipCode == nil)
    }

    @Test func anEventOfSomethingElseIsNothing() throws {
        #expect(try TelnyxEvent(Array(#"{"data":{"event_type":"message.received"}}"#.utf8)).kind == .other)
    }

    @Test(
        arguments: [
            ("", .notJSON), ("{", .notJSON), ("[]", .notJSON), (#""text""#, .notJSON),
            ("{}", .missing("data.event_type")), (#"{"data":{}}"#, .missing("data.event_type")),
            (#"{"data":[]}"#, .notObject("data")), (#"{"data":{"event_type":7}}"#, .notText("data.event_type")),
            (#"{"data":{"event_type":"call.answered"}}"#, .missing("data.payload.call_control_id")),
            (#"{"data":{"event_type":"call.answered","payload":1}}"#, .notObject("data.payload")),
            (
                #"{"data":{"event_type":"call.answered","payload":{"call_control_id":["v3:abc"]}}}"#,
                .notText("data.payload.call_control_id")
            ),
            (
                #"{"data":{"event_type":"call.answered","payload":{"call_control_id":"v3:../../x"}}}"#,
                .notCallID("data.payload.call_control_id")
            ),
        ] as [(String, TelnyxEvent.Malformed)])
    func whatCannotBeUnderstoodNamesItsField(body: String, problem: TelnyxEvent.Malformed) {
        #expect(throws: problem) { try TelnyxEvent(Array(body.utf8)) }
    }
}
