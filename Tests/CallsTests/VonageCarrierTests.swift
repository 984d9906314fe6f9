import Bridge
import Realtime
import Testing

@testable import Calls

@Suite struct VonageCarrierTests {
    @Test func aStreamIsKnownByNothingButItsToken() {
        let vonage = VonageCarrier(signature: VonageSignature(secret: "s"), publicURL: "https://voice.example.com")
        #expect(vonage.streamURL == "wss://voice.example.com/media/vonage" && vonage.api == nil)
        #expect(!vonage.isSigned(path: "/media/vonage", query: [], headers: ["authorization": "Bearer x"]))
        #expect(VonageCarrier.owns(callID: "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"))
        #expect(!VonageCarrier.owns(callID: "CON-aaaaaaaa-bbbb-cccc-dddd-0123456789ab"))
    }

    @Test(
        arguments: [
            ("started", nil, nil), ("ringing", .ringing, nil), ("answered", .answered, nil),
            ("human", .answered, .human), ("machine", .answered, .voicemail), ("completed", .completed, nil),
            ("busy", .busy, nil), ("timeout", .noAnswer, nil), ("unanswered", .noAnswer, nil),
            ("cancelled", .cancelled, nil), ("failed", .failed, nil), ("disconnected", nil, nil),
            ("something new", nil, nil), (nil, nil, nil),
        ] as [(String?, CarrierReport.State?, AnsweredBy?)])
    func statesOfVonageAreOurs(status: String?, state: CarrierReport.State?, whom: AnsweredBy?) {
        let report = CarrierReport(vonageCall: "u", status: status)
        #expect(report.state == state && report.answeredBy == whom && report.sipCode == nil && report.callID == "u")
    }

    @Test func aRejectedCallIsOneThatSipRejects() {
        #expect(CarrierReport(vonageCall: "u", status: "rejected").sipCode == 603)
    }
}
