import Bridge
import Calls
import Foundation
import Net
import Realtime
import Settings
import Store
import Testing

@testable import trunkline

/// What settings must be together, and what follows from one for another.
@Suite struct ConfigurationCheckTests {
    private static let key = String(repeating: "ab", count: 32)

    private func read(_ settings: [String: String]) throws(ConfigurationError) -> Configuration {
        try Configuration.read(
            file: nil, flags: settings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, environment: [:],
            folder: "/nowhere")
    }

    @Test func nothingSetIsRight() throws {
        let configuration = try read([:])
        #expect(configuration.calls.routing.isBoundToLoopback && configuration.calls.inbound.numbers == nil)
        #expect(configuration.calls.inbound.accounts.isEmpty && configuration.calls.routing.gateway == nil)
    }

    @Test(arguments: [
        (["twilio.api_key_sid": "SK1"], "needed both"),
        (["outbound.default_gateway": "twilio"], "TWILIO_ACCOUNT_SID"),
        (["twilio.mode": "turns"], "TWILIO_ACCOUNT_SID"),
        (["twilio.auth_token": "t"], "APP_PUBLIC_BASE_URL"),
        (["outbound.default_gateway": "telnyx"], "TELNYX_CONNECTION_ID"),
        (["telnyx.public_key": "CNbsyClOSrDQQZcmW8njiFeF5aCX/Zvf8HP+EXoVyKs="], "APP_PUBLIC_BASE_URL"),
        (["outbound.default_gateway": "signalwire"], "SIGNALWIRE_SPACE"),
        (["signalwire.signing_key": "PSK_1"], "APP_PUBLIC_BASE_URL"),
        (["outbound.default_gateway": "plivo"], "PLIVO_AUTH_ID"),
        (["plivo.auth_token": "t"], "APP_PUBLIC_BASE_URL"),
        (["plivo.auth_id": "MA00000000000000ABCD"], "PLIVO_AUTH_TOKEN"),
        (["plivo.auth_id": "MA1"], "18 capital letters or digits"),
        (["plivo.stream_format": "opus/48000"], "must be mulaw/8000, l16/8000 or l16/16000"),
        (["outbound.default_gateway": "vonage"], "VONAGE_APPLICATION_ID"),
        (["vonage.signature_secret": "s"], "APP_PUBLIC_BASE_URL"),
        (["vonage.application_id": "x"], "must be a UUID"),
        (["vonage.application_id": "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"], "vonage.private_key are needed both"),
        (
            ["vonage.application_id": "aaaaaaaa-bbbb-cccc-dddd-0123456789ab", "vonage.private_key": "no key"],
            "vonage.private_key is no RSA key"
        ),
        (["outbound.default_gateway": "exotel"], "EXOTEL_ACCOUNT_SID"),
        (["exotel.webhook_token": "0123456789abcdef"], "APP_PUBLIC_BASE_URL"),
        (["exotel.webhook_token": "too short"], "at least 16 letters and digits"),
        (["exotel.account_sid": "acme1"], "exotel.app_id are needed together"),
        (["outbound.default_gateway": "genesys"], "places no calls"),
        (["genesys.api_key": "k"], "are needed together"), (["genesys.client_secret": "YWJj"], "are needed together"),
        (["genesys.api_key": "k", "genesys.client_secret": "?"], "must be Base64"),
        (["genesys.api_key": "k", "genesys.client_secret": "YWJj"], "APP_PUBLIC_BASE_URL"),
        (["exotel.app_id": "../1"], "must consist of letters"),
        (["outbound.default_gateway": "a b"], "must be 1 to 8 of host"),
        (["operators.number": "12"], "operators.number: must be a number"),
        (
            [
                "outbound.default_gateway": "exotel", "exotel.account_sid": "acme1", "exotel.api_key": "k",
                "exotel.api_token": "t", "exotel.app_id": "926", "exotel.webhook_token": "0123456789abcdef",
                "public_url": "https://voice.example.com", "operators.number": "+821012345678",
            ], "operators.number: Exotel cannot transfer calls"
        ),
        (["sip.host": "192.0.2.1"], "sip.host is 192.0.2.1: beyond loopback what is stored"),
        (["alerts.url": "http://example.org"], "alerts.url must be https:"),
        (["result_callback_url": "x"], "result_callback_url must be an https: URL"),
        (["webhooks.url": "http://example.org"], "webhooks.url must be https:"),
        (["tls.certificate": "/nowhere"], "tls.certificate: cannot read /nowhere"),
        (["sip.tls_port": "5061"], "sip.tls_port needs tls.certificate"),
        (["tls.key": "/etc/hostname"], "needed both"),
        (
            ["http.host": "192.0.2.1", "bridge.open_streams": "true", "security.encryption_key": key],
            "bridge.open_streams accepts streams without a token"
        ),
        (["agent.mode": "realtime"], "OPENAI_API_KEY"),
        (["agent.mode": "realtime", "realtime.providers": "gemini"], "GEMINI_API_KEY"),
        (["outbound.ai.voicemail": "leave_message"], "outbound.ai.voicemail_message"),
        (["bridge.stream_format": "l16/16000"], "bridge.stream_format is l16/16000, but twilio has only mulaw/8000"),
        (["bridge.stream_url": "wss://u:p@agent.example"], "bridge.stream_url must not hold a user name"),
        (["bridge.failure_message": String(repeating: "x", count: 501)], "is longer than 500 characters"),
        (["bridge.stream_dialect": "x"], "bridge.stream_dialect: must be one of"),
        (["stt.providers": "deepgram"], "stt.providers has deepgram: set DEEPGRAM_API_KEY"),
        (["tts.providers": "openai"], "tts.providers has openai: set OPENAI_API_KEY"),
        (["llm.providers": "embedded,groq"], "llm.providers has groq: set GROQ_API_KEY, or llm.groq.url"),
        (["outbound.result.summary_model": "openai/x"], "set the key of openai"),
        (["http.host": "192.0.2.1", "security.encryption_key": key], "TRUNKLINE_API_KEY"),
        (
            ["http.host": "192.0.2.1", "security.encryption_key": key, "api_key": "0123456789abcdef"],
            "set tls.certificate and tls.key"
        ),
    ])
    func whatCannotWorkTogetherIsTold(settings: [String: String], words: String) {
        let error = #expect(throws: ConfigurationError.self) { try read(settings) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    @Test func oneKeyServesAllOfAVendor() throws {
        let configuration = try read([
            "realtime.openai.api_key": "a", "realtime.gemini.api_key": "b", "stt.deepgram.api_key": "c",
            "llm.openai.api_key": "d",
        ])
        let speech = configuration.speech
        #expect(speech.transcription.apiKey == "a" && speech.openAISpeech.apiKey == "a")
        #expect(speech.embeddings.apiKey == "a" && speech.chat["openai"]?.apiKey == "d")
        #expect(speech.chat["gemini"]?.apiKey == "b" && speech.deepgramSpeech.apiKey == "c")
        #expect(speech.chat["groq"]?.apiKey == nil)
    }

    @Test func aSettingReachesEveryRoomThatNeedsIt() throws {
        let configuration = try read([
            "sip.host": "127.0.0.2", "bridge.stream_token": "t", "data": "/d", "agent.language": "ko",
            "outbound.ai.max_turns": "7", "inbound.accounts": "a:b", "llm.temperature": "1.5",
            "outbound.default_gateway": "one.example:5062;transport=tls, two.example", "sip.gateway.username": "u",
        ])
        let calls = configuration.calls
        #expect(calls.rtpHost == "127.0.0.2" && calls.bridge.streamToken == "t")
        #expect(calls.recordingsFolder == "/d/recordings")
        #expect(calls.inbound.brief.language == "ko" && calls.inbound.brief.maxTurns == 7)
        #expect(configuration.streams.brief.language == "ko" && calls.inbound.accounts["a"] != nil)
        #expect(configuration.speech.chat.values.allSatisfy { $0.temperature == 1.5 })
        guard case .sip(let trunks)? = calls.routing.gateway else {
            Issue.record("no gateway")
            return
        }
        #expect(trunks.map(\.address) == ["one.example:5062;transport=tls", "two.example"])
        #expect(trunks.allSatisfy { $0.credentials?.user == "u" })
    }

    @Test func beyondLoopbackNoUnlistedSourceCallsIn() throws {
        let calls = try read(["sip.host": "192.0.2.1", "security.encryption_key": Self.key]).calls
        #expect(calls.inbound.numbers == [] && calls.inbound.trustedSources == [])
        #expect(!calls.routing.isBoundToLoopback)
    }
}
