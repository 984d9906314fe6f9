import Bridge
import Realtime
import Testing

@testable import Calls

/// How the words of Telnyx's events become ours.
@Suite struct TelnyxReportTests {
    private func report(_ type: String, _ payload: String) throws -> CarrierReport {
        let body = #"{"data":{"event_type":"\#(type)","payload":{"call_control_id":"v3:abc",\#(payload)}}}"#
        return CarrierReport(telnyx: try TelnyxEvent(Array(body.utf8)))
    }

    @Test(
        arguments: [
            ("user_busy", "486", .busy, 486), ("timeout", "487", .noAnswer, 487), ("no_answer", "480", .noAnswer, 480),
            ("originator_cancel", "487", .cancelled, 487), ("call_rejected", "603", .failed, 603),
            ("call_rejected", "unspecified", .failed, 603), ("not_found", "404", .failed, 404),
            ("not_found", "unspecified", .failed, 404), ("normal_clearing", "200", .completed, 200),
            ("time_limit", "200", .completed, 200), ("unspecified", "503", .failed, 503),
            ("unspecified", "unspecified", .completed, nil), ("something_new", "500", .failed, 500),
            ("something_new", "200", .completed, 200),
        ] as [(String, String, CarrierReport.State, Int?)])
    func causesAreStates(cause: String, code: String, state: CarrierReport.State, sipCode: Int?) throws {
        let report = try report("call.hangup", #""hangup_cause":"\#(cause)","sip_hangup_cause":"\#(code)""#)
        #expect(report == CarrierReport(callID: "v3:abc", state: state, sipCode: sipCode))
        #expect(report.isFinal)
    }

    @Test(
        arguments: [
            ("human", .human), ("human_residence", .human), ("human_business", .human), ("machine", .voicemail),
            ("fax_detected", .voicemail), ("silence", nil), ("not_sure", nil),
        ] as [(String, AnsweredBy?)])
    func whoAnsweredIsUnderstood(result: String, whom: AnsweredBy?) throws {
        for type in ["call.machine.detection.ended", "call.machine.premium.detection.ended"] {
            #expect(
                try report(type, #""result":"\#(result)""#) == CarrierReport(callID: "v3:abc", answeredBy: whom))
        }
    }

    @Test(
        arguments: [("call.initiated", nil), ("call.answered", .answered), ("streaming.started", nil)]
            as [(String, CarrierReport.State?)])
    func otherEventsAreNoEnds(type: String, state: CarrierReport.State?) throws {
        let report = try report(type, #""hangup_cause":"user_busy","result":"machine""#)
        #expect(report.state == state && report.answeredBy == nil && report.sipCode == nil)
    }
}
