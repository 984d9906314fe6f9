import Bridge
import Calls
import Foundation
import JSON
import Net
import Realtime
import Store
import Testing

@testable import API

@Suite struct PayloadTests {
    @Test(arguments: [("01098765432", "010****5432"), ("sip:alice@127.0.0.1", "sip:a***@127.0.0.1"), ("12345", "1***")])
    func numbersAreMasked(number: String, masked: String) { #expect(Payloads.masked(number) == masked) }

    @Test func eventsCarryTheirPayloadInTheEnvelope() throws {
        let event = CallEvent(
            id: 3, name: "x", at: Date(timeIntervalSince1970: 0), callID: "ob-1", direction: .outbound,
            payload: #"{"a":1}"#)
        #expect(event.envelope == #"{"id":3,"event":"x","at":"1970-01-01T00:00:00.000Z","outbound_id":"ob-1","a":1}"#)
    }
}
