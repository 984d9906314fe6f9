import Foundation
import Net
import Testing

@testable import Bridge

/// What is asked of the API; that the vendor's client asks the same, `test_vonage.py` shows.
@Suite struct VonageRESTTests {
    private static let id = "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"

    private func rest() throws -> VonageREST {
        let key = try #require(VonageKey(pem: VonageKeyTests.pem))
        return VonageREST(
            .init(applicationID: Self.id, key: key), client: HTTPClient(), now: { Date(timeIntervalSince1970: 1) })
    }

    private func placement(
        to: String = "+821098765432", _ detection: VonageREST.MachineDetection?, ring: Int = 30, limit: Int = 240
    ) -> VonageREST.Placement {
        .init(
            to: to, from: "+15550100", answerURL: "https://h/a", eventURL: "https://h/e", machineDetection: detection,
            ringSeconds: ring, timeLimit: limit)
    }

    @Test func aCallIsPlaced() throws {
        let request = try rest().placing(placement(.standard))
        #expect(request.method == "POST" && request.url == "https://api.nexmo.com/v1/calls" && !request.isRepeatable)
        #expect(request.header("authorization")?.hasPrefix("Bearer eyJ") == true)
        #expect(
            request.object == [
                "to": [["type": "phone", "number": "821098765432"]],
                "from": ["type": "phone", "number": "15550100"], "answer_url": ["https://h/a"],
                "answer_method": "POST", "event_url": ["https://h/e"], "event_method": "POST", "ringing_timer": 30,
                "length_timer": 240, "machine_detection": "continue",
            ])
    }

    @Test func whoAnsweredIsFoundAsWished() throws {
        let advanced = try rest().placing(placement(.advanced)).object
        #expect(
            advanced?["advanced_machine_detection"] as? [String: String] == ["behavior": "continue", "mode": "detect"])
        let none = try rest().placing(placement(nil)).object
        #expect(none?["machine_detection"] == nil && none?["advanced_machine_detection"] == nil)
    }

    @Test func timesAreBoundedAndASipAddressIsCalled() throws {
        let fields = try rest().placing(placement(to: "sip:a@b", nil, ring: 600, limit: 1_000_000)).object
        #expect(fields?["ringing_timer"] as? Int == 120 && fields?["length_timer"] as? Int == 86_400)
        #expect(fields?["to"] as? [[String: String]] == [["type": "sip", "uri": "sip:a@b"]])
    }

    @Test func aCallIsTransferred() throws {
        let request = try rest().transferring(Self.id, to: .say("Hello", language: "en-US"))
        #expect(request.method == "PUT" && request.url == "https://api.nexmo.com/v1/calls/" + Self.id)
        #expect(
            request.object == [
                "action": "transfer",
                "destination": [
                    "type": "ncco", "ncco": [["action": "talk", "text": "Hello", "language": "en-US"]],
                ] as [String: Any],
            ])
    }
}
