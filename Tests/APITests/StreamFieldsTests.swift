import Calls
import Delivery
import Foundation
import JSON
import Net
import Problems
import Testing

@testable import API

/// `stream` of `POST /api/outbound/`.
@Suite struct StreamFieldsTests {
    private func request(
        _ stream: String, callee: String = "sip:bob@127.0.0.1:5090", _ settings: CallSettings = CallSettings()
    ) throws(APIError) -> CallRequest {
        let body =
            #"{"caller_number":"025550100","callee_number":"\#(callee)","purpose":"p","questions":["?"],"#
            + #""stream":\#(stream)}"#
        return try CallRequest(
            Array(body.utf8), settings: settings, webhooks: .init(secret: .random()), requestedBy: "t", now: Date())
    }
    private func errors(_ stream: String, callee: String = "sip:bob@127.0.0.1:5090") -> [String: ProblemCode] {
        do throws(APIError) { _ = try request(stream, callee: callee) } catch {
            return Dictionary(error.errors.map { ($0.field, $0.problem.code) }) { first, _ in first }
        }
        return [:]
    }

    @Test func allOfItIsKept() throws {
        let stream = try request(
            #"{"url":"wss://a.test/x?y=1","dialect":"plivo","headers":{"Authorization":"Bearer k","x-e":""},"#
                + #""parameters":{"k":"v"},"secret":"s"}"#
        ).call.stream
        #expect(
            stream
                == Call.Stream(
                    url: "wss://a.test/x?y=1", dialect: "plivo", headers: ["Authorization": "Bearer k", "x-e": ""],
                    parameters: ["k": "v"], secret: "s"))
    }

    @Test func theDialectIsThatOfTheSettingsUnlessItIsTold() throws {
        var settings = CallSettings()
        settings.bridge.streamDialect = "vonage"
        #expect(try request(#"{"url":"wss://a.test/"}"#, settings).call.stream?.dialect == "vonage")
        #expect(try request("null").call.stream == nil)
    }

    @Test(arguments: [
        ("https://a.test/", ProblemCode.notWebSocketUrl), ("wss://a.test/#f", .notWebSocketUrl),
        ("wss:///x", .notWebSocketUrl), ("a.test", .notWebSocketUrl), ("wss://u:p@a.test/", .credentialsInUrl),
        ("wss://u@a.test/", .credentialsInUrl), ("ws://a.test/", .wsOnlyOnLoopback),
        ("ws://127.0.0.1.a.test/", .wsOnlyOnLoopback), ("wss://a.test/ x", .characterNotInUrl),
        ("wss://a.test/한", .characterNotInUrl), ("", .blank),
        ("wss://a.test/" + String(repeating: "x", count: 2_048), .tooLong), ("wss://a.test:99999/", .notWebSocketUrl),
    ])
    func aBadURL(url: String, code: ProblemCode) { #expect(errors(#"{"url":"\#(url)"}"#) == ["stream.url": code]) }

    @Test func loopbackMayBeReachedWithoutTLSWhileWeAreBoundToIt() throws {
        let stream = #"{"url":"ws://127.0.0.1:8000/x"}"#
        #expect(errors(stream) == [:])
        var settings = CallSettings()
        settings.routing.isBoundToLoopback = false
        settings.routing.sipHosts = ["127.0.0.1"]
        settings.routing.allowedCallers = ["025550100"]
        let error = #expect(throws: APIError.self) { try request(stream, settings) }
        #expect(error?.errors.map(\.field) == ["stream.url"])
    }

    @Test(arguments: [
        ("Host", "x", ProblemCode.reservedName), ("Sec-WebSocket-Protocol", "x", .reservedName),
        ("upgrade", "x", .reservedName), ("a b", "x", .notHeaderName), ("a:", "x", .notHeaderName),
        ("ä", "x", .notHeaderName), ("x-a", "한", .notHeaderValue), ("x-a", "\\r\\nx: y", .controlCharacter),
        (String(repeating: "n", count: 65), "x", .tooLong), ("x-a", String(repeating: "v", count: 2_049), .tooLong),
    ])
    func aBadHeader(name: String, value: String, code: ProblemCode) {
        let found = errors(#"{"url":"wss://a.test/","headers":{"\#(name)":"\#(value)"}}"#)
        #expect(found == ["stream.headers.\(name)": code])
    }

    @Test func whatADialectSetsItselfIsReserved() {
        let stream = #"{"url":"wss://a.test/","dialect":"genesys","headers":{"Audiohook-Session-Id":"x"}}"#
        #expect(errors(stream) == ["stream.headers.Audiohook-Session-Id": .reservedName])
        #expect(errors(stream.replacing("genesys", with: "plivo")) == [:])
    }

    @Test func headersAreFewAndDiffer() {
        let many = (0..<17).map { #""x-\#($0)":"v""# }.joined(separator: ",")
        #expect(errors(#"{"url":"wss://a.test/","headers":{\#(many)}}"#) == ["stream.headers": .tooManyItems])
        let twice = #"{"url":"wss://a.test/","headers":{"x-a":"1","X-A":"2"}}"#
        #expect(errors(twice) == ["stream.headers": .givenTwice])
        let long = String(repeating: "v", count: 2_000)
        let large = (0..<5).map { #""x-\#($0)":"\#(long)""# }.joined(separator: ",")
        #expect(errors(#"{"url":"wss://a.test/","headers":{\#(large)}}"#) == ["stream.headers": .tooLarge])
    }

    @Test(arguments: [
        (#"{}"#, ["stream.url": ProblemCode.required]), (#""wss://a.test/""#, ["stream": .notObject]),
        (#"{"url":"wss://a.test/","extra":1}"#, ["stream.extra": .unknownField]),
        (#"{"url":"wss://a.test/","dialect":"x"}"#, ["stream.dialect": .notChoice]),
        (#"{"url":"wss://a.test/","headers":[]}"#, ["stream.headers": .notObject]),
        (#"{"url":"wss://a.test/","headers":{"x":1}}"#, ["stream.headers.x": .notText]),
        (#"{"url":"wss://a.test/","parameters":{"brief":"x"}}"#, ["stream.parameters.brief": .reservedName]),
        (#"{"url":"wss://a.test/","parameters":{"from":"x"}}"#, ["stream.parameters.from": .reservedName]),
        (#"{"url":"wss://a.test/","parameters":{"":"x"}}"#, ["stream.parameters.": .blank]),
        (#"{"url":"wss://a.test/","dialect":"vonage","secret":"s"}"#, ["stream.secret": .signsNoUpgrades]),
        (#"{"url":"wss://a.test/","dialect":"genesys","secret":"c2VjcmV0"}"#, ["stream.secret": .notSigningSecret]),
        (
            #"{"url":"wss://a.test/","dialect":"genesys","headers":{"x-api-key":"k"},"secret":"no Base64"}"#,
            ["stream.secret": .notSigningSecret]
        ),
        (#"{"url":"wss://a.test/","secret":1}"#, ["stream.secret": .notText]),
    ])
    func whatElseIsWrong(stream: String, expected: [String: ProblemCode]) { #expect(errors(stream) == expected) }

    @Test func itIsForCallsOverSIP() {
        #expect(errors(#"{"url":"wss://a.test/"}"#, callee: "browser:") == ["stream": .onlyOverSip])
    }

    @Test func theRecordShowsNoSecret() throws {
        let call = try request(
            #"{"url":"wss://a.test/x?token=hidden","headers":{"Authorization":"Bearer hidden"},"#
                + #""parameters":{"token":"hidden"},"secret":"hidden"}"#
        ).call
        let text = Payloads.call(call, isMasked: false, now: Date()).text
        #expect(!text.contains("hidden") && text.contains(#""headers":["Authorization"]"#))
        #expect(text.contains("wss://a.test/x\"") && text.contains(#""parameters":["token"]"#))
        #expect(!Payloads.call(call, isMasked: true, now: Date()).text.contains("a.test"))
    }
}
