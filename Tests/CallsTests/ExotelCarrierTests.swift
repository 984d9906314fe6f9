import Bridge
import Net
import Testing

@testable import Calls

@Suite struct ExotelCarrierTests {
    private let exotel = ExotelCarrier(
        webhookToken: "a-webhook-token", publicURL: "http://voice.example.com", sampleRate: 16_000)

    @Test func aStreamIsKnownByNothingButItsToken() {
        #expect(exotel.streamURL(token: "t1") == "ws://voice.example.com/media/exotel?token=t1&sample-rate=16000")
        #expect(exotel.api == nil && !exotel.isSigned(path: "/media/exotel", query: [("token", "x")], headers: [:]))
    }

    /// Exotel takes three parameters of 256 characters at most.
    @Test func theUrlOfAStreamIsShortEnough() throws {
        let token = StreamTickets(nowMs: { 1 }).issue(.init(providerCallID: "a", callID: "b"))
        let query = try #require(exotel.streamURL(token: token).split(separator: "?").last)
        #expect(query.utf8.count <= 256 && query.split(separator: "&").count <= 3)
    }

    @Test(
        arguments: [
            ("queued", nil, nil), ("ringing", nil, .ringing), ("in-progress", "answered", .answered),
            (nil, "answered", .answered), ("completed", "terminal", .completed), ("failed", "terminal", .failed),
            ("busy", "terminal", .busy), ("no-answer", "terminal", .noAnswer), ("canceled", nil, .cancelled),
            (nil, "terminal", nil), (nil, nil, nil),
        ] as [(String?, String?, CarrierReport.State?)])
    func statesOfExotelAreOurs(status: String?, event: String?, state: CarrierReport.State?) {
        #expect(CarrierReport(exotelCall: "s", status: status, event: event).state == state)
    }

    @Test func whatTheVendorLacksIsSaid() async throws {
        let rest = ExotelREST(
            .init(accountSID: "a", key: "k", token: "t", appID: "1"), client: HTTPClient())
        let carrier = ExotelCarrier(webhookToken: "w", publicURL: "https://h", rest: rest)
        let api = try #require(carrier.api)
        #expect(!api.canTransfer)
        await #expect(throws: CarrierFailure("Exotel's API cannot give up a call")) { try await api.cancel("s") }
        let transfer = CarrierTransfer(target: "+1", callerID: nil, ringSeconds: 1, language: "en")
        await #expect(throws: CarrierFailure.self) { try await api.transfer("s", transfer) }
        try await api.hangUp("s")
    }
}
