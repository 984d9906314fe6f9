import Foundation
import Net
import Testing

@testable import Bridge

@Suite struct ExotelRESTTests {
    private let rest = ExotelREST(
        .init(accountSID: "acme1", key: "key", token: "secret", appID: "926"), client: HTTPClient())

    private func placing(ring: Int = 30, limit: Int = 240) -> HTTPClientRequest {
        rest.placing(
            .init(
                to: "+919876543210", from: "+918047491899", customField: "ob-1", statusURL: "https://h/s?call=ob-1",
                ringSeconds: ring, timeLimit: limit))
    }

    @Test func aCallIsPlaced() throws {
        let request = placing()
        #expect(request.method == "POST" && !request.isRepeatable)
        #expect(request.url == "https://api.exotel.com/v1/Accounts/acme1/Calls/connect.json")
        #expect(request.header("authorization") == "Basic " + Data("key:secret".utf8).base64EncodedString())
        let form = try HTTPForm.decode(try #require(request.body))
        #expect(
            Dictionary(form.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 }) == [
                "From": "+919876543210", "CallerId": "+918047491899", "CallType": "trans", "TimeOut": "30",
                "Url": "http://my.exotel.com/acme1/exoml/start_voice/926", "TimeLimit": "240", "CustomField": "ob-1",
                "StatusCallback": "https://h/s?call=ob-1", "StatusCallbackContentType": "application/json",
                "StatusCallbackEvents[0]": "answered", "StatusCallbackEvents[1]": "terminal",
            ])
    }

    @Test func timesAreBounded() throws {
        let form = try HTTPForm.decode(try #require(placing(ring: 0, limit: 100_000).body))
        #expect(form.contains { $0 == ("TimeOut", "1") } && form.contains { $0 == ("TimeLimit", "14400") })
    }
}
