import Bridge
import Foundation
import Net
import Realtime
import Testing

@testable import Calls

@Suite struct StreamTargetTests {
    private func found(
        _ url: String? = "wss://agent.test/media?sample-rate=16000&k=a%20b", stream: Call.Stream? = nil,
        _ change: (inout BridgeSettings) -> Void = { _ in }
    ) -> StreamTarget? {
        var settings = CallSettings()
        settings.bridge.streamURL = url
        settings.bridge.streamToken = "secret"
        change(&settings.bridge)
        let brief = Brief(purpose: "p", questions: [Question(id: "q1", text: "?")])
        let call = Call(
            localNumber: "025550100", remoteNumber: "01012345678", brief: brief, stream: stream, createdAt: Date())
        return StreamTarget(of: call, settings, streamID: "s", callID: "c")
    }

    /// Some dialects settle the format by the URL, so the client's codec needs the query.
    @Test func theDialectIsToldTheURL() throws {
        let handshake = try #require(found()?.options.handshake)
        #expect(handshake.path == "/media" && handshake.peer == "agent.test")
        #expect(handshake.query.map(\.name) == ["sample-rate", "k"] && handshake.query.last?.value == "a b")
        #expect(try #require(found("ws://agent.test")).options.handshake?.path == "/")
        #expect(found(nil) == nil)
    }

    @Test func theServerOfTheSettingsGetsOurTokenAndMayBeInOurNetwork() throws {
        let target = try #require(found())
        #expect(target.start.parameters["token"] == "secret" && target.start.parameters["brief"] != nil)
        #expect(target.upgrade.allowsPrivateAddresses)
    }

    @Test func aCallsOwnServerGetsNoToken() throws {
        let own = Call.Stream(
            url: "wss://own.test/x", dialect: "telnyx", headers: ["x-b": "2", "X-A": "1"],
            parameters: ["customer": "7", "brief": "forged"])
        let target = try #require(found(stream: own))
        #expect(target.dialect.traits.name == "telnyx" && target.upgrade.url.host == "own.test")
        #expect(target.upgrade.headers.map(\.0) == ["X-A", "x-b"])
        #expect(target.start.parameters["customer"] == "7" && target.start.parameters["brief"] != "forged")
        #expect(!target.start.parameters.values.contains("secret") && !target.upgrade.allowsPrivateAddresses)
        #expect(found(stream: own) { $0.allowsPrivateAddresses = true }?.upgrade.allowsPrivateAddresses == true)
        let near = Call.Stream(url: "ws://127.0.0.1:9/x", dialect: "telnyx")
        #expect(found(stream: near)?.upgrade.allowsPrivateAddresses == true)
    }

    private static let secret = "c2VjcmV0IG9mIGEgY2xpZW50"

    /// As its carrier's server checks it, with everything that the URL has.
    private func isSigned(_ target: StreamTarget?) throws -> Bool {
        let target = try #require(target)
        let handshake = try #require(target.options.handshake)
        switch target.dialect.traits.name {
        case "twilio":
            return FormSignature(key: Self.secret).isValid(
                handshake.headers["x-twilio-signature"] ?? "", url: "wss://agent.test" + target.upgrade.url.path)
        case "plivo":
            return PlivoSignature(authToken: Self.secret).isValid(
                "GET", url: "wss://agent.test/media", query: handshake.query, headers: handshake.headers)
        default:
            let signature = try #require(GenesysSignature(apiKey: "secret", clientSecret: Self.secret))
            return signature.proof(
                target: target.upgrade.url.path, authority: "agent.test", headers: handshake.headers, at: Date()) != nil
        }
    }

    @Test(arguments: ["twilio", "plivo", "genesys"]) func anUpgradeIsSignedAsItsCarrierDoes(dialect: String) throws {
        let signed = found {
            $0.streamDialect = dialect
            $0.streamSecret = Self.secret
        }
        #expect(try isSigned(signed))
        #expect(try !isSigned(found { $0.streamDialect = dialect }), "no secret")
        var own = Call.Stream(
            url: "wss://agent.test/media?k=a%20b", dialect: dialect, headers: ["X-API-Key": "secret"],
            secret: Self.secret)
        #expect(own.secretProblem == nil)
        #expect(try isSigned(found(stream: own)))
        own.secret = nil
        #expect(try !isSigned(found(stream: own) { $0.streamSecret = Self.secret }), "ours is not for its server")
    }

    @Test func aSecretThatSignsNothingIsToldAtTheStart() {
        let problem = { (change: (inout BridgeSettings) -> Void) -> String? in
            var settings = BridgeSettings()
            settings.streamURL = "wss://agent.test/media"
            settings.streamDialect = "genesys"
            settings.streamSecret = Self.secret
            settings.streamToken = "key"
            change(&settings)
            return settings.problem()
        }
        #expect(problem { _ in } == nil)
        #expect(problem { $0.streamDialect = "vonage" } == "bridge.stream_secret is set, but vonage signs no upgrades")
        #expect(problem { $0.streamURL = nil } == "bridge.stream_secret is set, but bridge.stream_url is not")
        let other = "bridge.stream_secret is none of genesys's, or bridge.stream_token is missing"
        #expect(problem { $0.streamToken = nil } == other && problem { $0.streamSecret = "no Base64" } == other)
    }

    @Test func theFormatIsThatOfTheSettings() throws {
        let format = { (name: String, dialect: String) in
            found {
                $0.streamDialect = dialect
                $0.streamFormat = name
            }?.options.format
        }
        #expect(format("l16/24000", "vonage") == WireFormat(.linear16(.little), sampleRate: 24_000))
        #expect(format("alaw/8000", "telnyx") == .aLaw8k)
        #expect(format("l16be/16000", "telnyx") == WireFormat(.linear16(.big), sampleRate: 16_000))
        #expect(found()?.options.format == nil)
    }

    /// Of a call's own stream in another dialect it would mean nothing.
    @Test func anotherDialectHasItsOwnFormat() throws {
        let own = Call.Stream(url: "wss://own.test/x", dialect: "vonage")
        let target = found(stream: own) {
            $0.streamDialect = "telnyx"
            $0.streamFormat = "l16/16000"
        }
        #expect(try #require(target).options.format == nil)
    }

    @Test func subprotocolsAreThoseOfTheDialect() throws {
        #expect(try #require(found { $0.streamDialect = "asterisk" }).upgrade.subprotocols == ["media"])
    }

    @Test(arguments: [("plivo", "l16/24000"), ("twilio", "alaw/8000"), ("vonage", "l16be/16000"), ("telnyx", "l16")])
    func aFormatThatTheDialectLacksIsToldAtTheStart(dialect: String, format: String) throws {
        var settings = BridgeSettings()
        settings.streamDialect = dialect
        settings.streamFormat = format
        let problem = try #require(settings.problem())
        #expect(problem.hasPrefix("bridge.stream_format is \(format), but \(dialect) has only "))
    }

    @Test func everyDialectTakesItsOwnFormats() {
        for dialect in Dialects.all {
            for name in dialect.traits.formatNames {
                var settings = BridgeSettings()
                settings.streamDialect = dialect.traits.name
                settings.streamFormat = name
                #expect(settings.problem() == nil, "\(dialect.traits.name) \(name)")
                let options = DialectOptions(role: .carrier, format: dialect.traits.format(named: name))
                #expect(dialect.init(options).terms.outgoing.name == name, "\(dialect.traits.name)")
            }
        }
    }
}
