import Foundation
import Net
import Testing

@testable import Bridge

/// The API that Twilio and SignalWire share, with what differs.
@Suite struct CallsRESTTests {
    private let project = "4b7ae78a-d02e-4889-a63b-08b156d5916e"
    private let call = "0703574f-b151-465d-aedb-28972eb513c7"
    private var resource: String { #"{"sid":"\#(call)","status":"queued"}"# }

    private func ask<Answer>(
        _ answer: String, status: String = "200 OK", _ question: (CallsREST) async throws -> Answer
    ) async throws -> (asked: RESTPeer.Asked?, answer: Answer?, failure: RESTFailure?) {
        let peer = RESTPeer(answer, status: status)
        defer { peer.stop() }
        var settings = SignalWireSettings()
        (settings.project, settings.token, settings.url) = (project, "PT1", peer.url + "/api/laml")
        let rest = CallsREST(try #require(settings.rest), client: HTTPClient())
        do {
            let answer = try await question(rest)
            return (peer.last, answer, nil)
        } catch { return (peer.last, nil, error as? RESTFailure) }
    }

    private func placement(timeLimit: Int?, machine: String?) -> CallsREST.Placement {
        CallsREST.Placement(
            to: "+1", from: "+2", url: "https://h/v", statusCallback: "https://h/s", machineCallback: machine,
            ringSeconds: 900, timeLimit: timeLimit)
    }

    @Test func aCallIsPlacedAtTheAccountsPath() async throws {
        let (asked, answer, _) = try await ask(resource) { try await $0.place(placement(timeLimit: nil, machine: nil)) }
        #expect(answer == CallsREST.CallResource(sid: call, status: "queued"))
        #expect(asked?.line == "POST /api/laml/2010-04-01/Accounts/\(project)/Calls.json")
        #expect(asked?.authorization == "Basic " + Data("\(project):PT1".utf8).base64EncodedString())
        let form = try HTTPForm.decode(Array(try #require(asked).body.utf8))
        #expect(
            form.map { "\($0.name)=\($0.value)" } == [
                "To=+1", "From=+2", "Url=https://h/v", "Method=POST", "Timeout=600", "StatusCallback=https://h/s",
                "StatusCallbackMethod=POST", "StatusCallbackEvent=initiated", "StatusCallbackEvent=ringing",
                "StatusCallbackEvent=answered", "StatusCallbackEvent=completed",
            ])
    }

    @Test func limitAndMachineDetectionAreAskedForWhereTheyAreKnown() async throws {
        let asked = try await ask(resource) { try await $0.place(placement(timeLimit: 90, machine: "https://h/m")) }
            .asked
        let body = try #require(asked?.body)
        #expect(body.contains("TimeLimit=90") && body.contains("AsyncAmdStatusCallback=https%3A%2F%2Fh%2Fm"))
        #expect(body.contains("MachineDetection=Enable&AsyncAmd=true"))
    }

    @Test func aTextMessageIsSent() async throws {
        let (asked, _, failure) = try await ask(#"{"sid":"SM1"}"#, status: "201 Created") {
            try await $0.sendMessage(to: "+1", from: "+2", text: "see you & bye")
        }
        #expect(failure == nil)
        #expect(asked?.line == "POST /api/laml/2010-04-01/Accounts/\(project)/Messages.json")
        #expect(asked?.body == "To=%2B1&From=%2B2&Body=see%20you%20%26%20bye")
        let refused = try await ask(#"{"code":21610,"message":"unsubscribed"}"#, status: "400 Bad Request") {
            try await $0.sendMessage(to: "+1", from: "+2", text: "x")
        }
        #expect(refused.failure?.code == 21_610)
    }

    @Test func aCallIsAskedAboutAndChanged() async throws {
        let path = "/api/laml/2010-04-01/Accounts/\(project)/Calls/\(call).json"
        #expect(try await ask(resource) { try await $0.call(call) }.asked?.line == "GET \(path)")
        for (status, asked) in [
            ("Status=canceled", try await ask(resource) { try await $0.cancel(call) }.asked),
            ("Status=completed", try await ask(resource) { try await $0.complete(call) }.asked),
            (
                "Url=u&Method=POST",
                try await ask(resource) { try await $0.set(call, [("Url", "u"), ("Method", "POST")]) }
                    .asked
            ),
        ] {
            #expect(asked?.line == "POST \(path)" && asked?.body == status)
        }
    }

    @Test func aRefusalHasCodeAndWords() async throws {
        let failure = try await ask(#"{"code":21211,"message":"No such number."}"#, status: "400 Bad Request") {
            try await $0.call(call)
        }.failure
        #expect(failure == RESTFailure("SignalWire refused (400): No such number.", code: 21_211, status: 400))
    }
}
