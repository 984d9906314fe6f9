import Bridge
import Realtime
import Testing

@testable import Calls

@Suite struct PlivoCarrierTests {
    private static let id = "9834029e-58b6-11e1-b8b7-a5bd0e4e126f"

    @Test func aSignedUpgradeIsKnown() {
        let signature = PlivoSignature(authToken: "t")
        let plivo = PlivoCarrier(signature: signature, publicURL: "https://voice.example.com")
        #expect(plivo.streamURL == "wss://voice.example.com/media/plivo" && plivo.api == nil)
        for url in ["wss://voice.example.com/media/plivo", "https://voice.example.com/media/plivo"] {
            let code = signature.signature("GET", url: url, nonce: "n")
            let headers = [PlivoSignature.header: code, PlivoSignature.nonceHeader: "n"]
            #expect(plivo.isSigned(path: "/media/plivo", query: [], headers: headers))
            #expect(!plivo.isSigned(path: "/media/other", query: [], headers: headers))
            #expect(!plivo.isSigned(path: "/media/plivo", query: [("a", "1")], headers: headers))
        }
        #expect(!plivo.isSigned(path: "/media/plivo", query: [], headers: [:]))
    }

    @Test(
        arguments: [
            ("ringing", nil, .ringing), ("in-progress", nil, .answered), ("completed", 4_000, .completed),
            ("completed", nil, .completed), ("busy", 3_010, .busy), ("no-answer", 3_000, .noAnswer),
            ("timeout", nil, .noAnswer), ("cancel", 1_000, .cancelled), ("canceled", nil, .cancelled),
            ("failed", 2_000, .failed), ("failed", nil, .failed), ("something new", nil, nil), (nil, nil, nil),
            (nil, 4_010, .completed), (nil, 3_010, .busy), (nil, 2_020, .failed), (nil, 0, .failed),
        ] as [(String?, Int?, CarrierReport.State?)])
    func statesOfPlivoAreOurs(status: String?, code: Int?, state: CarrierReport.State?) {
        let report = CarrierReport(plivoCall: Self.id, requestID: "r", status: status, hangupCode: code)
        #expect(report.state == state && report.callID == Self.id && report.placementID == "r")
        #expect(report.sipCode == nil && report.answeredBy == nil)
    }

    @Test func aRejectedCallIsOneThatSipRejects() {
        let report = CarrierReport(plivoCall: Self.id, status: "failed", hangupCode: 3_020)
        #expect(report.state == .failed && report.sipCode == 603)
    }

    @Test func whoAnsweredIsUnderstood() {
        let machine = CarrierReport(plivoCall: Self.id, status: "in-progress", isMachine: true)
        let person = CarrierReport(plivoCall: Self.id, status: "in-progress", isMachine: false)
        #expect(machine.answeredBy == .voicemail && person.answeredBy == .human && machine.state == .answered)
    }
}
