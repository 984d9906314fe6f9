import Net
import Testing

@testable import Bridge

/// What the clients of all carriers' APIs have in common. What one carrier alone has is in its own suite.
@Suite struct CarrierRESTTests {
    struct ProviderCase: Sendable, CustomTestStringConvertible {
        let title: String
        /// Of a call.
        let id: String
        /// Places a call at this address, and returns its id.
        let place: @Sendable (_ url: String) async throws -> String
        let isCallID: @Sendable (String) -> Bool
        /// The answers to a call that is placed, and to one that is refused with these words.
        let placed: @Sendable (_ id: String) -> String
        let refused: @Sendable (_ words: String) -> String
        var testDescription: String { title }
    }

    static let providers = [signalWire, telnyx, plivo, vonage, exotel]
    private static let uuid = "9834029e-58b6-11e1-b8b7-a5bd0e4e126f"

    private static let signalWire = ProviderCase(
        title: "SignalWire", id: uuid,
        place: { url in
            var settings = SignalWireSettings()
            (settings.project, settings.token, settings.url) = (uuid, "PT1", url)
            let placement = CallsREST.Placement(
                to: "+1", from: "+2", url: "https://h/v", statusCallback: "https://h/s", machineCallback: nil,
                ringSeconds: 30, timeLimit: nil)
            return try await CallsREST(try #require(settings.rest), client: HTTPClient()).place(placement).sid
        }, isCallID: SignalWireREST.isCallID, placed: { #"{"sid":"\#($0)","status":"queued"}"# },
        refused: { #"{"code":21211,"message":"\#($0)"}"# })

    private static let telnyx = ProviderCase(
        title: "Telnyx", id: "v3:9X2vxPDFY2RHSJ1EdMS0RHRksMTg7ldNxdjWbVr9zBjbGjGsSe-aiQ",
        place: { url in
            var configuration = TelnyxREST.Configuration(apiKey: "KEY1", connectionID: "c")
            configuration.url = url
            let placement = TelnyxREST.Placement(
                to: "+1", from: "+2", webhook: "https://h/v", state: .placed(callID: "out-1"), detectsMachines: false,
                ringSeconds: 30, timeLimit: 60)
            return try await TelnyxREST(configuration, client: HTTPClient()).place(placement)
        }, isCallID: TelnyxREST.isCallID, placed: { #"{"data":{"call_control_id":"\#($0)","is_alive":false}}"# },
        refused: { #"{"errors":[{"code":"10015","title":"Title","detail":"\#($0)"}]}"# })

    private static let plivo = ProviderCase(
        title: "Plivo", id: uuid,
        place: { url in
            var configuration = PlivoREST.Configuration(authID: "MA1", authToken: "secret")
            configuration.url = url
            let placement = PlivoREST.Placement(
                to: "+1", from: "+2", answerURL: "https://h/a", statusURL: "https://h/s", machineURL: nil,
                ringSeconds: 30, timeLimit: 60)
            return try await PlivoREST(configuration, client: HTTPClient()).place(placement)
        }, isCallID: PlivoREST.isCallID, placed: { #"{"message":"call fired","request_uuid":"\#($0)"}"# },
        refused: { #"{"error":"\#($0)"}"# })

    private static let vonage = ProviderCase(
        title: "Vonage", id: uuid,
        place: { url in
            let key = try #require(VonageKey(pem: VonageKeyTests.pem))
            var configuration = VonageREST.Configuration(applicationID: uuid, key: key)
            configuration.url = url
            let placement = VonageREST.Placement(
                to: "+1", from: "+2", answerURL: "https://h/a", eventURL: "https://h/e", machineDetection: nil,
                ringSeconds: 30, timeLimit: 60)
            return try await VonageREST(configuration, client: HTTPClient()).place(placement)
        }, isCallID: VonageREST.isCallID, placed: { #"{"uuid":"\#($0)","status":"started"}"# },
        refused: { #"{"title":"\#($0)"}"# })

    private static let exotel = ProviderCase(
        title: "Exotel", id: "b6cfaf5f5cef3ca0fc937749ef960e25",
        place: { url in
            var configuration = ExotelREST.Configuration(accountSID: "a1", key: "k", token: "t", appID: "926")
            configuration.url = url
            let placement = ExotelREST.Placement(
                to: "+1", from: "+2", customField: "out-1", statusURL: "https://h/s", ringSeconds: 30, timeLimit: 60)
            return try await ExotelREST(configuration, client: HTTPClient()).place(placement)
        }, isCallID: ExotelREST.isCallID, placed: { #"{"Call":{"Sid":"\#($0)","Status":"in-progress"}}"# },
        refused: { #"{"RestException":{"Status":400,"Message":"\#($0)"}}"# })

    /// What came of placing a call where the carrier answers so.
    private func place(
        _ provider: ProviderCase, _ answer: String, status: String = "200 OK"
    ) async -> (id: String?, failure: RESTFailure?) {
        let peer = RESTPeer(answer, status: status)
        defer { peer.stop() }
        do { return (try await provider.place(peer.url), nil) } catch { return (nil, error as? RESTFailure) }
    }

    @Test(arguments: providers) func aPlacedCallHasAnID(provider: ProviderCase) async {
        #expect(await place(provider, provider.placed(provider.id)).id == provider.id)
    }

    /// The call may have been placed: nothing may place it again.
    @Test(arguments: providers, ["", "[]", "{}", "../x"])
    func anAnswerThatIsNoCallIsUncertain(provider: ProviderCase, answer: String) async {
        let (_, failure) = await place(provider, answer == "../x" ? provider.placed(answer) : answer)
        #expect(failure?.isUncertain == true && failure?.status == 200)
        #expect(failure?.message == "\(provider.title)'s answer is not one of a call")
    }

    @Test(arguments: providers) func aRefusalHasItsWords(provider: ProviderCase) async {
        let (_, failure) = await place(provider, provider.refused("No such number."), status: "400 Bad Request")
        #expect(failure?.message == "\(provider.title) refused (400): No such number." && failure?.status == 400)
        #expect(failure?.isUncertain == false)
    }

    @Test(arguments: providers, ["", "[]", "{}", #"{"errors":{}}"#, #"{"errors":[{"code":7}]}"#])
    func aRefusalWithoutWordsIsStillOne(provider: ProviderCase, body: String) async {
        let (_, failure) = await place(provider, body, status: "401 Unauthorized")
        #expect(failure == RESTFailure("\(provider.title) refused (401): no reason given", status: 401))
    }

    @Test(arguments: providers) func anAPIThatCannotBeReachedIsNotUncertain(provider: ProviderCase) async {
        await #expect {
            _ = try await provider.place("http://127.0.0.1:1")
        } throws: { error in
            let failure = error as? RESTFailure
            return failure?.isUncertain == false && failure?.message.hasPrefix(provider.title + " cannot be") == true
        }
    }

    /// An id stands in a path as it is.
    @Test(arguments: providers) func onlyAnIDOfACallStandsInAPath(provider: ProviderCase) {
        let id = provider.id
        #expect(provider.isCallID(id))
        for other in [
            "", "..", "../../x", id + "/", "/" + id, id + "?", id + " ", id + "é", id + "５", "９" + id.dropFirst(),
            String(repeating: "a", count: 300), "CA1",
        ] {
            #expect(!provider.isCallID(other), "\(other)")
        }
    }
}
