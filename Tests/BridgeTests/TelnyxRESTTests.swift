import Net
import Testing

@testable import Bridge

@Suite struct TelnyxRESTTests {
    private let id = "v3:9X2vxPDFY2RHSJ1EdMS0RHRksMTg7ldNxdjWbVr9zBjbGjGsSe-aiQ"
    private static let result = #"{"data":{"result":"ok"}}"#

    /// Asks a server that answers so, and returns what it was asked and what came of it.
    private func ask<Answer>(
        _ answer: String = Self.result, status: String = "200 OK", connection: String? = "conn-1",
        _ question: (TelnyxREST) async throws -> Answer
    ) async -> (asked: RESTPeer.Asked?, answer: Answer?, failure: RESTFailure?) {
        let peer = RESTPeer(answer, status: status)
        defer { peer.stop() }
        var configuration = TelnyxREST.Configuration(apiKey: "KEY1", connectionID: connection)
        configuration.url = peer.url + "/v2"
        let rest = TelnyxREST(configuration, client: HTTPClient())
        do {
            let answer = try await question(rest)
            return (peer.last, answer, nil)
        } catch { return (peer.last, nil, error as? RESTFailure) }
    }

    private func placement(_ ringSeconds: Int, _ timeLimit: Int, detects: Bool = true) -> TelnyxREST.Placement {
        TelnyxREST.Placement(
            to: "+15550100", from: "+15550199", webhook: "https://h/telnyx/voice", state: .placed(callID: "out-1"),
            detectsMachines: detects, ringSeconds: ringSeconds, timeLimit: timeLimit)
    }

    @Test func aCallIsPlaced() async throws {
        let (asked, answer, _) = await ask(#"{"data":{"call_control_id":"\#(id)","is_alive":false}}"#) {
            try await $0.place(placement(30, 240))
        }
        #expect(answer == id && asked?.line == "POST /v2/calls" && asked?.authorization == "Bearer KEY1")
        var fields = try #require(asked?.fields)
        #expect(fields.removeValue(forKey: "command_id")?.count == 36)
        #expect(
            fields == [
                "connection_id": "conn-1", "to": "+15550100", "from": "+15550199", "timeout_secs": "30",
                "time_limit_secs": "240", "webhook_url": "https://h/telnyx/voice", "webhook_url_method": "POST",
                "client_state": TelnyxState.placed(callID: "out-1").text, "answering_machine_detection": "detect",
            ])
    }

    @Test(arguments: [(1, 5, 100_000, 14_400), (999, 600, 60, 60)])
    func timesAreThoseThatTelnyxTakes(ring: Int, told: Int, limit: Int, toldLimit: Int) async {
        let asked = await ask { try await $0.place(placement(ring, limit, detects: false)) }.asked
        #expect(asked?.fields["timeout_secs"] == "\(told)" && asked?.fields["time_limit_secs"] == "\(toldLimit)")
        #expect(asked?.fields["answering_machine_detection"] == nil)
    }

    @Test func nothingIsPlacedWithoutAConnection() async {
        let (asked, _, failure) = await ask(connection: nil) { try await $0.place(placement(30, 60)) }
        #expect(asked == nil && failure?.message.contains("telnyx.connection_id") == true)
    }

    @Test func commandsNameTheCall() async throws {
        let stream = TelnyxStream(url: "wss://h/s", format: .muLaw8k)
        let answered = await ask { try await $0.answer(id, stream: (stream, "t")) }.asked
        #expect(answered?.line == "POST /v2/calls/\(id)/actions/answer")
        #expect(answered?.fields["command_id"] == "answer" && answered?.fields["stream_bidirectional_mode"] == "rtp")
        let bare = await ask { try await $0.answer(id, stream: nil) }.asked
        #expect(bare?.fields == ["command_id": "answer", "client_state": TelnyxState.arrived.text])
        let streamed = await ask { try await $0.stream(id, stream, token: "t") }.asked
        #expect(streamed?.line == "POST /v2/calls/\(id)/actions/streaming_start")
        #expect(streamed?.fields["command_id"] == "stream")
        let rejected = await ask { try await $0.reject(id, isBusy: true) }.asked
        #expect(rejected?.fields == ["cause": "USER_BUSY", "command_id": "reject"])
        let refused = await ask { try await $0.reject(id, isBusy: false) }.asked
        #expect(refused?.fields["cause"] == "CALL_REJECTED")
    }

    @Test func aTransferTellsWhoseItIs() async throws {
        let state = TelnyxState.transfer(of: id, language: "ko")
        let transfer = TelnyxREST.Transfer(
            to: "+15550177", from: "+15550199", webhook: "https://h/telnyx/voice", state: state, ringSeconds: 30)
        let asked = await ask { try await $0.transfer(id, transfer) }.asked
        #expect(asked?.line == "POST /v2/calls/\(id)/actions/transfer")
        var fields = try #require(asked?.fields)
        #expect(fields.removeValue(forKey: "command_id")?.count == 36)
        #expect(
            fields == [
                "to": "+15550177", "from": "+15550199", "timeout_secs": "30", "time_limit_secs": "14400",
                "webhook_url": "https://h/telnyx/voice", "webhook_url_method": "POST",
                "target_leg_client_state": state.text,
            ])
    }

    @Test func wordsAreSpoken() async throws {
        let asked = await ask { try await $0.speak(id, "Bye.", language: "en-US", state: .farewell) }.asked
        let fields = try #require(asked?.fields)
        #expect(fields["payload"] == "Bye." && fields["language"] == "en-US" && fields["voice"] == "female")
        #expect(fields["client_state"] == TelnyxState.farewell.text)
    }

    @Test func whetherACallIsAliveIsTold() async {
        let (asked, isAlive, _) = await ask(#"{"data":{"is_alive":true}}"#) { try await $0.isAlive(id) }
        #expect(isAlive == true && asked?.line == "GET /v2/calls/\(id)")
        #expect(await ask { try await $0.isAlive(id) }.failure != nil)
    }

    private func errors(_ code: String) -> String {
        #"{"errors":[{"code":"\#(code)","title":"Title","detail":"Detail of it."}]}"#
    }

    @Test func aCallThatHasEndedCannotFailToBeHungUp() async {
        let status = "422 Unprocessable Entity"
        #expect(await ask(errors("90018"), status: status) { try await $0.hangUp(id) }.failure == nil)
        let failure = await ask(errors("10015"), status: status) { try await $0.hangUp(id) }.failure
        #expect(failure?.code == 10_015 && failure?.status == 422)
        #expect(failure?.message == "Telnyx refused (422): Detail of it.")
    }

    @Test(arguments: [
        "", "v3:", "v3:a/b", "v3:a?b", "v3:a b", "v3:ä9", "v4:abc", "CA1", "v3:" + String(repeating: "a", count: 254),
    ])
    func whatIsNoCallIDIsNone(id: String) { #expect(!TelnyxREST.isCallID(id)) }

    @Test(arguments: ["v3:abc-_09", "v2:7V3r4VFCGLTzKLOveE0-7vM9dX17-NRQgU1byo-uuOIX9JcDadLLKw"])
    func callIDsAreKnown(id: String) { #expect(TelnyxREST.isCallID(id)) }
}
