import Bridge
import Realtime
import Testing

@testable import Calls

/// What every carrier declares, and how the words of forms become ours.
@Suite struct CarriersTests {
    @Test func namesAreThoseOfOneCarrier() {
        #expect(Set(Carriers.names).count == Carriers.all.count)
        for carrier in Carriers.all {
            #expect(carrier.name == carrier.name.lowercased() && !carrier.title.isEmpty)
            #expect(Dialects.named(carrier.dialect) != nil, "\(carrier.name) speaks an unknown dialect")
            #expect(Carriers.known(carrier.name) == carrier)
            #expect(!carrier.owns(callID: "") && !carrier.owns(callID: "../calls"))
        }
        #expect(Carriers.known("nobody") == nil)
    }

    @Test func aCarrierIsFoundByWhatItIs() throws {
        let signature = FormSignature(key: "12345")
        let twilio = TwilioCarrier(signature: signature, publicURL: "https://voice.example.com")
        #expect(twilio.streamURL == "wss://voice.example.com/media/twilio" && twilio.api == nil)
        let carriers = Carriers([twilio])
        // Without keys it sends nothing.
        #expect(carriers.messenger == nil)
        #expect(carriers.the(TwilioCarrier.self)?.publicURL == twilio.publicURL)
        #expect(carriers.speaking("twilio") != nil && carriers.named("twilio") != nil)
        #expect(Carriers().the(TwilioCarrier.self) == nil && carriers.speaking("other") == nil)
        let path = "/media/twilio"
        let header = [TwilioREST.signatureHeader: signature.signature(url: twilio.publicURL + path, form: [])]
        #expect(twilio.isSigned(path: path, query: [], headers: header))
        #expect(!twilio.isSigned(path: "/twilio/stream", query: [], headers: header))
        #expect(!twilio.isSigned(path: path, query: [], headers: [:]))
    }

    @Test func aStreamGoesToTheDialectsPath() {
        #expect(TelnyxCarrier.streamURL(at: "https://h") == "wss://h/media/telnyx")
        #expect(SignalWireCarrier.streamURL(at: "http://h:1/a") == "ws://h:1/a/media/signalwire")
    }

    @Test(
        arguments: [
            ("queued", nil, false), ("initiated", nil, false), ("ringing", .ringing, false),
            ("in-progress", .answered, false), ("completed", .completed, true), ("busy", .busy, true),
            ("no-answer", .noAnswer, true), ("canceled", .cancelled, true), ("failed", .failed, true),
            ("something new", nil, false), (nil, nil, false),
        ] as [(String?, CarrierReport.State?, Bool)])
    func statesOfFormsAreOurs(status: String?, state: CarrierReport.State?, isFinal: Bool) {
        let report = CarrierReport(callID: "CA1", status: status)
        #expect(report.state == state && report.isFinal == isFinal && report.callID == "CA1")
    }

    @Test func whoAnsweredIsUnderstood() {
        let whom = ["human", "machine_start", "machine_end_beep", "fax", "unknown"].map {
            CarrierReport(callID: "CA1", status: nil, answeredBy: $0).answeredBy
        }
        #expect(whom == [.human, .voicemail, .voicemail, .voicemail, nil])
    }
}
