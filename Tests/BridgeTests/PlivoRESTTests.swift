import Foundation
import Net
import Testing

@testable import Bridge

/// What is asked of the API; that the vendor's client asks the same, `test_plivo.py` shows.
@Suite struct PlivoRESTTests {
    private static let id = "9834029e-58b6-11e1-b8b7-a5bd0e4e126f"
    private let rest = PlivoREST(.init(authID: "MA1", authToken: "secret"), client: HTTPClient())

    private func placement(machineURL: String?, ring: Int = 30) -> PlivoREST.Placement {
        .init(
            to: "+821098765432", from: "+15550100", answerURL: "https://h/a", statusURL: "https://h/s",
            machineURL: machineURL, ringSeconds: ring, timeLimit: 240)
    }

    @Test func aCallIsPlaced() {
        let request = rest.placing(placement(machineURL: "https://h/s"))
        #expect(request.method == "POST" && request.url == "https://api.plivo.com/v1/Account/MA1/Call/")
        #expect(!request.isRepeatable, "a call is never placed twice")
        #expect(request.header("authorization") == "Basic " + Data("MA1:secret".utf8).base64EncodedString())
        #expect(
            request.object == [
                "to": "821098765432", "from": "15550100", "answer_url": "https://h/a", "answer_method": "POST",
                "ring_url": "https://h/s", "ring_method": "POST", "hangup_url": "https://h/s",
                "hangup_method": "POST", "ring_timeout": 30, "time_limit": 240, "machine_detection": "true",
                "machine_detection_url": "https://h/s", "machine_detection_method": "POST",
            ])
    }

    @Test func machineDetectionMayBeOffAndTheRingingIsBounded() {
        let fields = rest.placing(placement(machineURL: nil, ring: 100_000)).object
        #expect(fields?["machine_detection"] == nil && fields?["ring_timeout"] as? Int == 600)
    }

    @Test func aCallIsTransferred() {
        let request = rest.transferring(Self.id, to: "https://h/t")
        #expect(request.method == "POST" && request.url == "https://api.plivo.com/v1/Account/MA1/Call/\(Self.id)/")
        #expect(request.object == ["legs": "aleg", "aleg_url": "https://h/t", "aleg_method": "POST"])
    }
}
