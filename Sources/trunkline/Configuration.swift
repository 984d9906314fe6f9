// Over 400 lines: a table with one entry for each setting.
import Bridge
import Calls
import Foundation
import Logging
import Net
import Pipeline
import Realtime
import Store
import Yams

/// Something in the configuration is wrong; says where.
struct ConfigurationError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// Every setting: key, meaning, default, unit. Flags win over the environment, the environment over `.env`, that over
/// the file.
struct Configuration {
    var httpHost = "127.0.0.1"
    var httpPort: UInt16 = 8080
    var webRoot: String?
    var certificate: String?
    /// The pair of `certificate` and `key`, read.
    var serverCertificate: ServerCertificate?
    var key: String?
    var sip = UserAgent.Configuration()
    var sipRealm = "trunkline"
    var digestAlgorithms: [DigestAuthenticator.Algorithm] = [.md5]
    private var inboundAccounts: [(user: String, password: String)] = []
    var data = "data"
    var calls = CallSettings()
    var modelFolder = AcousticModel.defaultFolder
    var speech = SpeechSettings()
    var vadProvider = "auto"
    var packFolder = SpeechPack.defaultFolder
    var speechWorkers = max(1, ProcessInfo.processInfo.activeProcessorCount)
    var speechDecoders = 2 * max(1, ProcessInfo.processInfo.activeProcessorCount)
    var rate: (perSecond: Double, burst: Double) = (50, 100)
    var logLevel = Logger.Level.info
    var logsJSON = false
    var adminKey: String?
    var loops = max(1, ProcessInfo.processInfo.activeProcessorCount)
    var streams = StreamServer.Settings()
    var twilioToken: String?
    var twilioAccount: String?
    var twilioKey: String?
    var twilioKeySecret: String?
    var twilioURL: String?
    var twilioDetectsMachines = true
    var twilioIsByTurns = false
    /// Twilio's REST API can be used.
    var twilio: TwilioREST.Configuration?
    var twilioStreamURL: String?
    var publicURL: String?
    var mode = Mode.cascade
    var realtime = RealtimeSettings()
    var gatewayAddress: String?
    var summaryModel: String?
    /// Without a URL nobody is told.
    var alerts = AlertWatch.Settings(url: "")
    var isBehindProxy = false
    var callbackURL: String?
    var webhookEndpoint: WebhookSubscribers.Endpoint?
    var webhookEvents: Set<String>?
    var webhookSecret: WebhookSecret?
    var webhookSchedule = WebhookSender.schedule
    var webhooksMayGoInside = false
    var encryptionKey: Vault.Key?
    var formerKeys: [Vault.Key] = []
    var hosts: [String] = []
    var retentionDays: Int?
    var gatewayUser: String?
    var gatewayPassword: String?
    var gatewayProxy: String?
    var gatewayRealm: String?
    var trunks: TrunkKeeper.Settings = {
        var settings = TrunkKeeper.Settings()
        settings.keepaliveSeconds = 60
        return settings
    }()

    enum Mode: String { case cascade, realtime }

    /// Speech models, and the order in which they are tried.
    struct RealtimeSettings {
        var providers = ["openai"]
        var openAI = OpenAIRealtime.Configuration(url: Self.openAIURL)
        var gemini = GeminiLive.Configuration()
        var fallsBack = true
        var caFile: String?
        static let openAIURL = WebSocketURL(host: "api.openai.com", port: 443, path: "/v1/realtime", isSecure: true)
    }

    struct Setting: Sendable {
        var key: String
        var help: String
        var isSecret = false
        var apply: @Sendable (inout Configuration, String) throws -> Void
    }

    /// The table. A value is text here, whether it came from the file or the environment; lists are separated by
    /// commas.
    static let settings: [Setting] = [
        Setting(key: "http.host", help: "IPv4 address to listen on (127.0.0.1)") { $0.httpHost = $1 },
        Setting(key: "http.port", help: "TCP port (8080)") { $0.httpPort = try port($1) },
        Setting(
            key: "http.behind_proxy",
            help:
                "a server of yours with TLS stands in front, and tells the caller's address in X-Forwarded-For (false)"
        ) { $0.isBehindProxy = try boolean($1) },
        Setting(
            key: "http.hosts",
            help: "names this server is asked by, beside loopback's and that of public_url, comma-separated"
        ) {
            $0.hosts = list($1).map { $0.lowercased() }
        },
        Setting(key: "http.web_root", help: "the dashboard's folder (web)") { $0.webRoot = $1 },
        Setting(key: "sip.host", help: "IPv4 address of SIP and RTP (127.0.0.1)") {
            $0.sip.host = $1
            $0.calls.rtpHost = $1
        },
        Setting(key: "sip.port", help: "SIP port, UDP and TCP (5060)") { $0.sip.port = try port($1) },
        Setting(key: "sip.advertised_host", help: "address told to peers, where it differs (NAT)") {
            $0.sip.advertisedHost = $1
        },
        Setting(key: "sip.gateway.username", help: "digest user at the gateway") { $0.gatewayUser = $1 },
        Setting(key: "sip.gateway.password", help: "digest password at the gateway", isSecret: true) {
            $0.gatewayPassword = $1
        },
        Setting(key: "sip.gateway.outbound_proxy", help: "sip: URI of an outbound proxy") { $0.gatewayProxy = $1 },
        Setting(key: "sip.gateway.realm", help: "only challenges of this realm are answered (any of the gateway's)") {
            $0.gatewayRealm = $1
        },
        Setting(key: "sip.gateway.register", help: "register with each gateway (false)") {
            $0.trunks.registers = try boolean($1)
        },
        Setting(key: "sip.gateway.register_seconds", help: "asked for (3600)") {
            $0.trunks.registrationSeconds = try integer($1, 60...86_400)
        },
        Setting(key: "sip.gateway.keepalive_seconds", help: "seconds between two OPTIONS to each gateway; 0: none (60)")
        {
            $0.trunks.keepaliveSeconds = Double(try integer($1, 0...3_600))
        },
        Setting(key: "sip.follow_redirects", help: "follow 3xx to hosts that are called anyway (false: toll fraud)") {
            $0.calls.routing.followsRedirects = try boolean($1)
        },
        Setting(
            key: "sip.session_expires",
            help: "seconds of the session timer, RFC 4028; 0: only where the far end wants one (1800)"
        ) {
            $0.sip.sessionExpires = UInt32(try integer($1, 0...86_400))
        },
        Setting(key: "sip.tls_port", help: "TCP port of SIP over TLS, with tls.certificate and tls.key (none)") {
            $0.sip.tlsPort = try port($1)
        },
        Setting(key: "sip.verify_tls", help: "check the certificates of SIP servers (true)") {
            $0.sip.verifiesTLS = try boolean($1)
        },
        Setting(
            key: "sip.srtp",
            help: "auto: SRTP where the signalling is TLS; required: always; off: only where it is offered (auto)"
        ) {
            configuration, text in
            guard let policy = CallSettings.SRTPPolicy(rawValue: text) else {
                throw ConfigurationError("must be auto, required or off")
            }
            configuration.calls.srtp = policy
        },
        Setting(key: "rtp.ports", help: "UDP ports for RTP (10000-20000)") { configuration, text in
            let parts = text.split(separator: "-").compactMap { UInt16($0.trimmingCharacters(in: .whitespaces)) }
            guard parts.count == 2, parts[0] < parts[1] else {
                throw ConfigurationError("must be LOW-HIGH, e.g. 10000-20000")
            }
            configuration.calls.rtpPorts = PortRange(parts[0]...parts[1])
        },
        Setting(key: "data", help: "folder of the database and the recordings (data)") { $0.data = $1 },
        Setting(key: "outbound.enabled", help: "dial at all (true)") { $0.calls.isEnabled = try boolean($1) },
        Setting(
            key: "outbound.default_gateway",
            help: "who takes numbers: SIP trunks, host[:port][;transport=tls], in order, comma-separated; or twilio"
        ) { $0.gatewayAddress = $1 },
        Setting(key: "outbound.max_concurrent_calls", help: "calls at once (5)") {
            $0.calls.maxConcurrentCalls = try integer($1, 1...10_000)
        },
        Setting(key: "outbound.ring_timeout", help: "seconds from INVITE to CANCEL (30)") {
            $0.calls.ringTimeout = Double(try integer($1, 1...600))
        },
        Setting(key: "outbound.max_call_duration", help: "seconds (300)") {
            $0.calls.maxCallDuration = try integer($1, 10...3_600)
        },
        Setting(key: "outbound.priority_ageing", help: "seconds of waiting that raise the priority by one (600)") {
            $0.calls.priorityAgeing = Double(try integer($1, 1...86_400))
        },
        Setting(key: "outbound.allowed_callers", help: "caller numbers that may be shown, comma-separated") {
            $0.calls.routing.allowedCallers = try list($1).map(number)
        },
        Setting(key: "outbound.sip_hosts", help: "hosts a sip: callee may name, comma-separated") {
            $0.calls.routing.sipHosts = list($1)
        },
        Setting(key: "outbound.country", help: "where national numbers belong, ISO 3166-1 (KR)") {
            configuration, text in
            guard NumberingPlan.countries.contains(where: { $0.name == text.uppercased() }) else {
                throw ConfigurationError(
                    "must be one of \(NumberingPlan.countries.map(\.name).joined(separator: ", "))")
            }
            configuration.calls.routing.plan.home = text.uppercased()
        },
        Setting(key: "inbound.enabled", help: "the AI answers calls that come in by SIP or a provider (true)") {
            $0.calls.inbound.isEnabled = try boolean($1)
        },
        Setting(
            key: "inbound.numbers",
            help: "numbers it answers, of SIP and of providers, comma-separated (on loopback any, else none)"
        ) {
            $0.calls.inbound.numbers = list($1)
        },
        Setting(
            key: "inbound.trusted_sources",
            help: "IPv4 addresses whose calls are taken, comma-separated (on loopback any, else none)"
        ) {
            configuration, text in
            configuration.calls.inbound.trustedSources = Set(
                try list(text).map { address in
                    guard SocketAddress(address, port: 0) != nil else {
                        throw ConfigurationError("\(address) is no IPv4 address")
                    }
                    return address
                })
        },
        Setting(key: "inbound.max_concurrent_calls", help: "more are told to try again (20)") {
            $0.calls.inbound.maxConcurrentCalls = try integer($1, 1...10_000)
        },
        Setting(key: "inbound.ring_ms", help: "how long it rings (1000)") {
            $0.calls.inbound.ringSeconds = Double(try integer($1, 0...60_000)) / 1_000
        },
        Setting(key: "inbound.purpose", help: "what the AI is to do for callers (take a message)") {
            $0.calls.inbound.brief.purpose = $1
        },
        Setting(
            key: "inbound.greeting_template", help: "first sentence; none: the AI's own (that of an answering machine)"
        ) {
            $0.calls.inbound.brief.greetingTemplate = $1 == "none" ? nil : $1
        },
        Setting(
            key: "inbound.questions",
            help: "what is asked, separated by |; none: nothing (what it is about, and whether to call back)"
        ) {
            configuration, text in
            let texts =
                text == "none"
                ? [] : text.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            guard texts.count <= 20, texts.allSatisfy({ $0.count <= 500 }) else {
                throw ConfigurationError("must be at most 20 texts of 500 characters")
            }
            configuration.calls.inbound.brief.questions = texts.enumerated().map {
                Question(id: "q\($0 + 1)", text: $1)
            }
        },
        Setting(key: "sip.number_format", help: "as_dialled or e164: the number in the Request-URI (as_dialled)") {
            configuration, text in
            guard let format = Routing.NumberFormat(rawValue: text) else {
                throw ConfigurationError("must be as_dialled or e164")
            }
            configuration.calls.routing.numberFormat = format
        },
        Setting(key: "outbound.caller_number", help: "shown for calls of POST /receive, which names none (none)") {
            $0.calls.callerNumber = try number($1)
        },
        Setting(
            key: "outbound.allowed_prefixes",
            help: "beginnings of numbers that may be dialled, in E.164, comma-separated (any)"
        ) {
            $0.calls.routing.allowedPrefixes = try list($1).map { prefix in
                guard prefix.hasPrefix("+"), prefix.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }) else {
                    throw ConfigurationError("\(prefix) must begin with + and a country code")
                }
                return prefix
            }
        },
        Setting(key: "outbound.calling_hours", help: "when people are called, e.g. mon-fri 09:00-20:00 (at any time)") {
            configuration, text in
            guard let hours = CallingHours(text) else {
                throw ConfigurationError("must be like 09:00-20:00 or mon-fri 09:00-20:00")
            }
            configuration.calls.policy.callingHours = hours
        },
        Setting(
            key: "outbound.calling_hours_zone",
            help: "callee, or a time zone such as Asia/Seoul (callee: by the number's country)"
        ) {
            $0.calls.policy.hoursZone = $1 == "callee" ? nil : try timeZone($1)
        },
        Setting(
            key: "outbound.time_zone",
            help: "where a day begins, and of callees whose number tells no country (the system's)"
        ) {
            $0.calls.policy.homeZone = try timeZone($1)
        },
        Setting(key: "outbound.daily_cap", help: "calls a day that show one caller number (any number)") {
            $0.calls.policy.dailyCap = try integer($1, 1...1_000_000)
        },
        Setting(
            key: "outbound.duplicate_window", help: "seconds between two calls to one callee; 0: only not at once (60)"
        ) {
            $0.calls.policy.duplicateWindow = Double(try integer($1, 0...DiallingPolicy.windowLimit))
        },
        Setting(key: "outbound.calls_per_second", help: "dials begun in a second; 0: any number (5)") {
            configuration, text in
            guard let value = Double(text), (0...1_000).contains(value) else {
                throw ConfigurationError("must be a number in 0…1000, not \(text)")
            }
            configuration.calls.policy.callsPerSecond = value
        },
        Setting(key: "outbound.retry.enabled", help: "dial again after no answer (true)") {
            $0.calls.retry.isEnabled = try boolean($1)
        },
        Setting(key: "outbound.retry.max_retries", help: "attempts after the first (2)") {
            $0.calls.retry.maxRetries = try integer($1, 0...10)
        },
        Setting(key: "outbound.retry.retry_interval", help: "seconds (300)") {
            $0.calls.retry.interval = Double(try integer($1, 0...86_400))
        },
        Setting(key: "outbound.retry.retry_on", help: "no_answer, busy, rejected, failed (no_answer,busy)") {
            configuration, text in
            configuration.calls.retry.retryOn = Set(
                try list(text).map { name in
                    guard let state = CallState(rawValue: name), [.noAnswer, .busy, .rejected, .failed].contains(state)
                    else {
                        throw ConfigurationError("\(name) is none of no_answer, busy, rejected, failed")
                    }
                    return state
                })
        },
        Setting(key: "outbound.ai.greeting_template", help: "first sentence; {caller} and {purpose} are filled in") {
            $0.calls.greetingTemplate = $1
        },
        Setting(key: "outbound.ai.closing_template", help: "last sentence") { $0.calls.closingTemplate = $1 },
        Setting(
            key: "outbound.ai.voicemail_message",
            help: "left on an answering machine after its beep (none: the call is ended)"
        ) {
            $0.calls.voicemail.message = $1
        },
        Setting(
            key: "outbound.ai.voicemail",
            help: "hang_up, leave_message or retry (leave_message where there is a message, else hang_up)"
        ) {
            configuration, text in
            guard let action = VoicemailAction(rawValue: text) else {
                throw ConfigurationError(
                    "must be one of \(VoicemailAction.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            configuration.calls.voicemail.action = action
        },
        Setting(
            key: "agent.hold_ms",
            help: "silence that is borne while a person is being fetched: screening, hold, a menu (45000)"
        ) {
            $0.calls.conversation.policy.holdMs = try integer($1, 1_000...600_000)
        },
        Setting(key: "outbound.ai.max_turns", help: "AI turns a call (20)") {
            $0.calls.maxTurns = try integer($1, 1...200)
        },
        Setting(key: "outbound.ai.task_completion_check", help: "end the call when every question is settled (true)") {
            _, text in
            guard try boolean(text) else { throw ConfigurationError("false is not supported yet") }
        },
        Setting(key: "outbound.result.save_transcript", help: "(true)") { $0.calls.savesTranscript = try boolean($1) },
        Setting(key: "outbound.result.save_recording", help: "(true)") { $0.calls.savesRecording = try boolean($1) },
        Setting(key: "outbound.result.generate_summary", help: "(true)") {
            $0.calls.generatesSummary = try boolean($1)
        },
        Setting(
            key: "outbound.result.summary_model",
            help:
                "model that sums calls up, as NAME or PROVIDER/NAME; template: none "
                + "(gemini-2.5-flash with GEMINI_API_KEY, else the agent's)"
        ) { $0.summaryModel = $1 },
        Setting(
            key: "result_callback_url",
            help: "https: URL that results are posted to in the older orchestrator's form (none)"
        ) {
            $0.callbackURL = $1
        },
        Setting(key: "costs.currency", help: "ISO 4217 (USD)") { configuration, text in
            guard text.count == 3, text.allSatisfy({ $0.isASCII && $0.isUppercase }) else {
                throw ConfigurationError("must be three letters, e.g. USD")
            }
            configuration.calls.prices.currency = text
        },
        Setting(
            key: "costs.prices",
            help: "list of COMPONENT UNIT AMOUNT, e.g. telephony/sip minute 0.012; what has none is unknown (none)"
        ) { configuration, text in
            configuration.calls.prices.prices = try list(text).map { item in
                guard let price = Price(item) else {
                    let units = Price.Unit.allCases.map(\.rawValue).joined(separator: ", ")
                    throw ConfigurationError("\(item) is no COMPONENT UNIT AMOUNT; units are \(units)")
                }
                return price
            }
        },
        Setting(key: "agent.language", help: "BCP 47 language of conversations (en)") { configuration, text in
            guard LanguageTag.isWellFormed(text) else { throw ConfigurationError("must be a BCP 47 tag") }
            configuration.calls.language = text
        },
        Setting(key: "agent.vad.silence_duration_ms", help: "silence that ends a caller's turn (600)") {
            $0.calls.conversation.detector.silenceMs = try integer($1, 100...5_000)
        },
        Setting(key: "agent.vad.threshold", help: "0…1: 0.5 is 9 dB over the noise, 1 is 15 dB (0.5)") {
            configuration, text in
            guard let value = Float(text), (0...1).contains(value) else {
                throw ConfigurationError("must be a number in 0…1, not \(text)")
            }
            configuration.calls.conversation.voiceActivity.threshold = value
        },
        Setting(
            key: "agent.vad.prefix_padding_ms",
            help: "sound from before the detected start of speech that is recognised (300)"
        ) {
            $0.calls.conversation.prefixMs = try integer($1, 0...2_000)
        },
        Setting(
            key: "agent.turn.finished_ms",
            help: "silence that ends a turn whose sentence is finished, as its words show (350)"
        ) {
            $0.calls.conversation.policy.endOfTurn.finishedMs = try integer($1, 100...5_000)
        },
        Setting(
            key: "agent.turn.dangling_ms", help: "silence that ends a turn that breaks off, e.g. with \"and\" (1200)"
        ) {
            $0.calls.conversation.policy.endOfTurn.danglingMs = try integer($1, 100...10_000)
        },
        Setting(key: "agent.turn.dictation_ms", help: "silence that ends a number being dictated (1500)") {
            $0.calls.conversation.policy.endOfTurn.dictationMs = try integer($1, 100...10_000)
        },
        Setting(key: "agent.turn.speculate", help: "ask the language model before the turn's end is certain (true)") {
            $0.calls.conversation.policy.speculates = try boolean($1)
        },
        Setting(
            key: "agent.filler_ms",
            help: "wait for the language model after which we say that we are at it; 0: never (2500)"
        ) {
            $0.calls.conversation.policy.fillerMs = try integer($1, 0...60_000)
        },
        Setting(
            key: "agent.disclosure",
            help: "spoken first, word for word, and not to be interrupted, e.g. that an AI is calling (none)"
        ) {
            $0.calls.conversation.policy.disclosure = $1
        },
        Setting(key: "agent.silence_prompt_ms", help: "silence after which the callee is prompted (7000)") {
            let silence = try integer($1, 1_000...60_000)
            $0.calls.conversation.policy.silencePromptMs = silence
        },
        Setting(key: "agent.mode", help: "cascade (recogniser, model, voice) or realtime (a speech model) (cascade)") {
            configuration, text in
            guard let mode = Mode(rawValue: text) else {
                throw ConfigurationError("must be cascade or realtime, not \(text)")
            }
            configuration.mode = mode
        },
        Setting(key: "agent.purpose", help: "what the AI is to do on open streams (bridge.open_streams)") {
            $0.streams.brief.purpose = $1
        },
        Setting(key: "agent.speaks_first", help: "the AI greets as soon as media flows (true)") {
            $0.calls.conversation.policy.speaksFirst = try boolean($1)
        },
        Setting(
            key: "agent.fallback", help: "let the embedded engines take over when no speech model can be had (true)"
        ) {
            $0.realtime.fallsBack = try boolean($1)
        },
        Setting(
            key: "operators.number",
            help: "number or sip: address that a call is handed to when a person is asked for (none)"
        ) {
            $0.calls.operatorNumber = $1
        },
        Setting(
            key: "operators.transfer_mode",
            help: "attended: we ring, brief and join; blind: REFER, or the provider dials (attended)"
        ) {
            configuration, text in
            guard let mode = CallSettings.TransferMode(rawValue: text) else {
                throw ConfigurationError("must be attended or blind")
            }
            configuration.calls.transferMode = mode
        },
        Setting(
            key: "sip.realm", help: "realm of the passwords of operators' phones; changing it voids them (trunkline)"
        ) { configuration, text in
            guard (1...64).contains(text.count),
                text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
            else {
                throw ConfigurationError("must have 1 to 64 letters, digits, '-', '_' and '.'")
            }
            configuration.sipRealm = text
        },
        Setting(
            key: "sip.digest",
            help: "algorithms offered to phones, comma-separated: SHA-256, MD5 (MD5: most phones know no other)"
        ) {
            configuration, text in
            configuration.digestAlgorithms = try list(text).map { name in
                guard let algorithm = DigestAuthenticator.Algorithm(rawValue: name.uppercased()) else {
                    throw ConfigurationError("must be SHA-256, MD5 or both")
                }
                return algorithm
            }
        },
        Setting(
            key: "inbound.accounts", help: "trunks that prove who they are: user:password, comma-separated (none)",
            isSecret: true
        ) {
            configuration, text in
            configuration.inboundAccounts = try list(text).map { account in
                let parts = account.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { throw ConfigurationError("must be user:password, comma-separated") }
                return (String(parts[0]), String(parts[1]))
            }
        },
        Setting(key: "agent.media_timeout_ms", help: "a stream that brings no media for so long is dead (30000)") {
            $0.calls.conversation.mediaTimeoutMs = try integer($1, 500...600_000)
        },
        Setting(
            key: "agent.barge_in.confirm_ms",
            help: "caller speech over ours that takes the turn; shorter is a backchannel (300)"
        ) {
            let words = $0.calls.conversation.bargeIn.minimumWords
            $0.calls.conversation.bargeIn = .init(confirmMs: try integer($1, 40...4_000), minimumWords: words)
        },
        Setting(
            key: "agent.barge_in.min_words",
            help: "words that take the turn, where the recogniser tells them in time (1)"
        ) {
            $0.calls.conversation.bargeIn.minimumWords = try integer($1, 0...20)
        },
        Setting(
            key: "realtime.providers",
            help: "speech models in the order in which they are tried: openai, gemini (openai)"
        ) {
            configuration, text in
            configuration.realtime.providers = try list(text).map { name in
                guard ["openai", "gemini"].contains(name) else {
                    throw ConfigurationError("\(name) is no speech model: openai, gemini")
                }
                return name
            }
        },
        Setting(
            key: "realtime.openai.url",
            help: "ws: or wss: URL that speaks OpenAI Realtime (wss://api.openai.com/v1/realtime)"
        ) {
            configuration, text in
            guard let url = WebSocketURL(text) else { throw ConfigurationError("must be a ws:// or wss:// URL") }
            configuration.realtime.openAI.url = url
        },
        Setting(key: "realtime.openai.api_key", help: "its key", isSecret: true) { $0.realtime.openAI.apiKey = $1 },
        Setting(key: "realtime.openai.model", help: "(gpt-realtime)") { $0.realtime.openAI.model = $1 },
        Setting(key: "realtime.openai.voice", help: "(marin)") { $0.realtime.openAI.voice = $1 },
        Setting(key: "realtime.openai.format", help: "mulaw: straight through; pcm: 24 kHz (mulaw)") {
            configuration, text in
            guard ["mulaw", "pcm"].contains(text) else { throw ConfigurationError("must be mulaw or pcm") }
            configuration.realtime.openAI.isMuLaw = text == "mulaw"
        },
        Setting(
            key: "realtime.openai.transcription_model",
            help: "what transcribes the caller; none: nothing (gpt-4o-transcribe)"
        ) {
            $0.realtime.openAI.transcriptionModel = $1 == "none" ? nil : $1
        },
        Setting(key: "realtime.openai.turn_detection", help: "server, semantic or manual: our own detector (server)") {
            configuration, text in
            configuration.realtime.openAI.turnDetection =
                switch text {
                case "server": .server(silenceMs: 700, threshold: 0.5, prefixMs: 300)
                case "semantic": .semantic(eagerness: "auto")
                case "manual": .manual
                default: throw ConfigurationError("must be server, semantic or manual")
                }
        },
        Setting(
            key: "realtime.openai.session_limit",
            help: "seconds after which a new session takes over in a quiet moment (3300)"
        ) {
            $0.realtime.openAI.lifetimeMs = UInt64(try integer($1, 1...3_540)) * 1_000
        },
        Setting(key: "realtime.gemini.url", help: "ws: or wss: URL that speaks Gemini Live (the vendor's)") {
            configuration, text in
            guard let url = WebSocketURL(text) else { throw ConfigurationError("must be a ws:// or wss:// URL") }
            configuration.realtime.gemini.url = url
        },
        Setting(key: "realtime.gemini.api_key", help: "its key", isSecret: true) { $0.realtime.gemini.apiKey = $1 },
        Setting(key: "realtime.gemini.model", help: "(gemini-2.5-flash-native-audio)") {
            $0.realtime.gemini.model = $1
        },
        Setting(key: "realtime.gemini.voice", help: "(the model's choice)") { $0.realtime.gemini.voice = $1 },
        Setting(
            key: "realtime.response_timeout_ms", help: "until a speech model's response must begin or go on (10000)"
        ) {
            $0.calls.conversation.policy.responseTimeoutMs = try integer($1, 500...60_000)
        },
        Setting(
            key: "stt.providers",
            help: "recognisers in the order in which they are tried: embedded, deepgram, openai, sherpa (embedded)"
        ) {
            $0.speech.speechToText = try names($1, of: SpeechSettings.speechToTextNames)
        },
        Setting(
            key: "stt.deepgram.url", help: "ws: or wss: URL that speaks Deepgram's protocol (wss://api.deepgram.com)"
        ) {
            $0.speech.deepgram.url = try webSocketURL($1)
        },
        Setting(key: "stt.deepgram.api_key", help: "its key", isSecret: true) { $0.speech.deepgram.apiKey = $1 },
        Setting(key: "stt.deepgram.model", help: "(nova-3)") { $0.speech.deepgram.model = $1 },
        Setting(
            key: "stt.deepgram.endpointing_ms",
            help: "silence after which Deepgram takes what was said as a whole (150)"
        ) {
            $0.speech.deepgram.endpointingMs = try integer($1, 10...2_000)
        },
        Setting(key: "stt.openai.url", help: "server with /audio/transcriptions (https://api.openai.com/v1)") {
            $0.speech.transcription.url = try webURL($1)
        },
        Setting(key: "stt.openai.api_key", help: "its key (OPENAI_API_KEY)", isSecret: true) {
            $0.speech.transcription.apiKey = $1
        },
        Setting(key: "stt.openai.model", help: "(gpt-4o-mini-transcribe)") { $0.speech.transcription.model = $1 },
        Setting(
            key: "llm.providers",
            help:
                "language models in the order in which they are tried: "
                + "embedded, openai, groq, gemini, ollama (embedded)"
        ) {
            $0.speech.languageModel = try names($1, of: SpeechSettings.languageModelNames)
        },
        Setting(key: "llm.temperature", help: "0…2 (0.4)") { configuration, text in
            guard let value = Double(text), (0...2).contains(value) else {
                throw ConfigurationError("must be a number in 0…2, not \(text)")
            }
            for name in configuration.speech.chat.keys { configuration.speech.chat[name]?.temperature = value }
        },
        Setting(key: "llm.openai.url", help: "server with /chat/completions (https://api.openai.com/v1)") {
            $0.speech.chat["openai"]?.url = try webURL($1)
        },
        Setting(key: "llm.openai.api_key", help: "its key", isSecret: true) { $0.speech.chat["openai"]?.apiKey = $1 },
        Setting(key: "llm.openai.model", help: "(gpt-4.1-mini)") { $0.speech.chat["openai"]?.model = $1 },
        Setting(key: "llm.openai.tools", help: "false: the model knows no functions and reports in text (true)") {
            $0.speech.chat["openai"]?.canCallTools = try boolean($1)
        },
        Setting(key: "llm.groq.url", help: "server with /chat/completions (https://api.groq.com/openai/v1)") {
            $0.speech.chat["groq"]?.url = try webURL($1)
        },
        Setting(key: "llm.groq.api_key", help: "its key", isSecret: true) { $0.speech.chat["groq"]?.apiKey = $1 },
        Setting(key: "llm.groq.model", help: "(llama-3.3-70b-versatile)") { $0.speech.chat["groq"]?.model = $1 },
        Setting(key: "llm.groq.tools", help: "false: the model knows no functions and reports in text (true)") {
            $0.speech.chat["groq"]?.canCallTools = try boolean($1)
        },
        Setting(key: "llm.gemini.url", help: "server with /chat/completions (its OpenAI-compatible endpoint)") {
            $0.speech.chat["gemini"]?.url = try webURL($1)
        },
        Setting(key: "llm.gemini.api_key", help: "its key", isSecret: true) { $0.speech.chat["gemini"]?.apiKey = $1 },
        Setting(key: "llm.gemini.model", help: "(gemini-2.5-flash)") { $0.speech.chat["gemini"]?.model = $1 },
        Setting(key: "llm.gemini.tools", help: "false: the model knows no functions and reports in text (true)") {
            $0.speech.chat["gemini"]?.canCallTools = try boolean($1)
        },
        Setting(key: "llm.ollama.url", help: "server with /chat/completions (http://127.0.0.1:11434/v1)") {
            $0.speech.chat["ollama"]?.url = try webURL($1)
        },
        Setting(key: "llm.ollama.api_key", help: "its key", isSecret: true) { $0.speech.chat["ollama"]?.apiKey = $1 },
        Setting(key: "llm.ollama.model", help: "(llama3.1)") { $0.speech.chat["ollama"]?.model = $1 },
        Setting(key: "llm.ollama.tools", help: "false: the model knows no functions and reports in text (true)") {
            $0.speech.chat["ollama"]?.canCallTools = try boolean($1)
        },
        Setting(
            key: "tts.providers",
            help:
                "voices in the order in which they are tried: "
                + "embedded, cartesia, elevenlabs, deepgram, openai, sherpa (embedded)"
        ) {
            $0.speech.textToSpeech = try names($1, of: SpeechSettings.textToSpeechNames)
        },
        Setting(
            key: "tts.cartesia.url", help: "ws: or wss: URL that speaks Cartesia's protocol (wss://api.cartesia.ai)"
        ) {
            $0.speech.cartesia.url = try webSocketURL($1)
        },
        Setting(key: "tts.cartesia.api_key", help: "its key", isSecret: true) { $0.speech.cartesia.apiKey = $1 },
        Setting(key: "tts.cartesia.model", help: "(sonic-3)") { $0.speech.cartesia.model = $1 },
        Setting(key: "tts.cartesia.voice", help: "id of a voice (Cartesia's Katie)") { $0.speech.cartesia.voice = $1 },
        Setting(
            key: "tts.elevenlabs.url",
            help: "ws: or wss: URL that speaks ElevenLabs' protocol (wss://api.elevenlabs.io)"
        ) {
            $0.speech.elevenLabs.url = try webSocketURL($1)
        },
        Setting(key: "tts.elevenlabs.api_key", help: "its key", isSecret: true) { $0.speech.elevenLabs.apiKey = $1 },
        Setting(key: "tts.elevenlabs.model", help: "(eleven_flash_v2_5)") { $0.speech.elevenLabs.model = $1 },
        Setting(key: "tts.elevenlabs.voice", help: "id of a voice (ElevenLabs' Rachel)") {
            $0.speech.elevenLabs.voice = $1
        },
        Setting(
            key: "tts.deepgram.url", help: "ws: or wss: URL that speaks Deepgram's protocol (wss://api.deepgram.com)"
        ) {
            $0.speech.deepgramSpeech.url = try webSocketURL($1)
        },
        Setting(key: "tts.deepgram.api_key", help: "its key (DEEPGRAM_API_KEY)", isSecret: true) {
            $0.speech.deepgramSpeech.apiKey = $1
        },
        Setting(key: "tts.deepgram.model", help: "voice and language (aura-2-thalia-en)") {
            $0.speech.deepgramSpeech.model = $1
        },
        Setting(key: "tts.openai.url", help: "server with /audio/speech (https://api.openai.com/v1)") {
            $0.speech.openAISpeech.url = try webURL($1)
        },
        Setting(key: "tts.openai.api_key", help: "its key (OPENAI_API_KEY)", isSecret: true) {
            $0.speech.openAISpeech.apiKey = $1
        },
        Setting(key: "tts.openai.model", help: "(gpt-4o-mini-tts)") { $0.speech.openAISpeech.model = $1 },
        Setting(key: "tts.openai.voice", help: "(marin)") { $0.speech.openAISpeech.voice = $1 },
        Setting(key: "tts.openai.instructions", help: "how to speak, e.g. calmly (none)") {
            $0.speech.openAISpeech.instructions = $1
        },
        Setting(
            key: "knowledge.embeddings.url", help: "server with /embeddings, by which knowledge is searched too (none)"
        ) {
            $0.speech.embeddings.url = try webURL($1)
        },
        Setting(key: "knowledge.embeddings.api_key", help: "its key (OPENAI_API_KEY)", isSecret: true) {
            $0.speech.embeddings.apiKey = $1
        },
        Setting(key: "knowledge.embeddings.model", help: "(text-embedding-3-small)") {
            $0.speech.embeddings.model = $1
        },
        Setting(
            key: "tls.certificate", help: "certificate chain of HTTP and WebSocket, PEM; with tls.key: TLS on http.port"
        ) { $0.certificate = $1 },
        Setting(key: "tls.key", help: "its private key, PEM; SIGHUP reads both again, for HTTPS") { $0.key = $1 },
        Setting(key: "tls.ca_file", help: "certificates that servers we call are checked against, PEM (the system's)") {
            $0.realtime.caFile = $1
        },
        Setting(key: "twilio.auth_token", help: "checks what comes from Twilio", isSecret: true) {
            $0.twilioToken = $1
        },
        Setting(key: "twilio.account_sid", help: "the account that calls are placed with") { configuration, text in
            let isSID =
                text.count == 34 && text.hasPrefix("AC") && text.dropFirst(2).allSatisfy { $0.isHexDigit && $0.isASCII }
            guard isSID else { throw ConfigurationError("must be AC and 32 hex digits") }
            configuration.twilioAccount = text
        },
        Setting(key: "twilio.api_key_sid", help: "API key for Twilio's REST API (the auth token is used)") {
            $0.twilioKey = $1
        },
        Setting(key: "twilio.api_key_secret", help: "its secret", isSecret: true) { $0.twilioKeySecret = $1 },
        Setting(key: "twilio.api_url", help: "Twilio's REST API, or a server like it (https://api.twilio.com)") {
            configuration, text in
            configuration.twilioURL = try webURL(text)
        },
        Setting(key: "twilio.mode", help: "stream, or turns: <Play> and <Record>, for trunks without streams (stream)")
        { configuration, text in
            guard ["stream", "turns"].contains(text) else { throw ConfigurationError("must be stream or turns") }
            configuration.twilioIsByTurns = text == "turns"
        },
        Setting(key: "twilio.machine_detection", help: "ask Twilio who answered, and end a machine's call (true)") {
            $0.twilioDetectsMachines = try boolean($1)
        },
        Setting(key: "twilio.stream_url", help: "where Twilio's streams go (public_url and /media/twilio)") {
            configuration, text in
            guard WebSocketURL(text) != nil, !text.contains("?") else {
                throw ConfigurationError("must be a ws:// or wss:// URL without a query")
            }
            configuration.twilioStreamURL = text
        },
        Setting(key: "public_url", help: "our address as providers see it, e.g. https://voice.example.com") {
            $0.publicURL = try webURL($1)
        },
        Setting(key: "bridge.open_streams", help: "let any media stream in; for benchmarks, on loopback only (false)") {
            $0.streams.isOpen = try boolean($1)
        },
        Setting(key: "loops", help: "event loops that carry the calls (cores)") { $0.loops = try integer($1, 1...256) },
        Setting(key: "bridge.stream_url", help: "stream legs to this ws: URL instead of into this process") {
            configuration, text in
            guard WebSocketURL(text) != nil else { throw ConfigurationError("must be a ws:// URL") }
            configuration.calls.streamURL = text
        },
        Setting(
            key: "bridge.stream_dialect", help: "name of the dialect that is spoken there (\(Dialects.names[0]))"
        ) { configuration, text in
            guard Dialects.named(text) != nil else {
                throw ConfigurationError("must be one of \(Dialects.names.joined(separator: ", "))")
            }
            configuration.calls.streamDialect = text
        },
        Setting(
            key: "bridge.stream_token", help: "token told to, and wanted from, a stream's other end", isSecret: true
        ) {
            $0.calls.streamToken = $1
            $0.streams.sharedToken = $1
        },
        Setting(
            key: "agent.vad.provider", help: "silero, embedded, or auto: silero where speech.pack_dir has it (auto)"
        ) { configuration, text in
            guard ["auto", "silero", "embedded"].contains(text) else {
                throw ConfigurationError("must be auto, silero or embedded")
            }
            configuration.vadProvider = text
        },
        Setting(
            key: "speech.pack_dir",
            help: "what `make speech-pack` fetches: sherpa-onnx and Silero VAD (\(SpeechPack.defaultFolder))"
        ) {
            $0.packFolder = $1
        },
        Setting(key: "speech.model_dir", help: "pocketsphinx's model (\(AcousticModel.defaultFolder))") {
            $0.modelFolder = $1
        },
        Setting(key: "speech.workers", help: "threads for recognition and synthesis (cores)") {
            $0.speechWorkers = try integer($1, 1...256)
        },
        Setting(key: "speech.decoders", help: "recognisers, 16 MB each (twice the cores)") {
            $0.speechDecoders = try integer($1, 1...1_024)
        },
        Setting(key: "security.rate_limit.per_second", help: "requests a key and source (50)") {
            $0.rate.perSecond = Double(try integer($1, 1...100_000))
        },
        Setting(key: "security.rate_limit.burst", help: "requests at once (100)") {
            $0.rate.burst = Double(try integer($1, 1...100_000))
        },
        Setting(
            key: "security.encryption_key",
            help: "encrypts what is stored of people: 64 hex digits, or 32 bytes in Base64 (openssl rand -hex 32)",
            isSecret: true
        ) { $0.encryptionKey = try Vault.Key($1) },
        Setting(
            key: "security.former_keys", help: "keys that can still open what they encrypted, comma-separated",
            isSecret: true
        ) {
            $0.formerKeys = try list($1).map { try Vault.Key($0) }
            guard $0.formerKeys.count <= Vault.formerKeyLimit else {
                throw ConfigurationError("has more than \(Vault.formerKeyLimit) keys")
            }
        },
        Setting(
            key: "security.retention_days",
            help: "calls are erased so many days after their end, with all that is kept of them (never)"
        ) {
            $0.retentionDays = try integer($1, 1...36_500)
        },
        Setting(key: "webhooks.url", help: "https: URL that every event is posted to (none)") {
            $0.webhookEndpoint = .init(url: $1)
        },
        Setting(key: "webhooks.events", help: "names of the events it wants, comma-separated (all)") {
            $0.webhookEvents = Set(list($1))
        },
        Setting(
            key: "webhooks.secret", help: "signs webhooks: whsec_ and Base64 (one is made at the first start)",
            isSecret: true
        ) {
            configuration, text in
            guard let secret = WebhookSecret(text) else {
                throw ConfigurationError("must be whsec_ and 24 to 64 bytes in Base64")
            }
            configuration.webhookSecret = secret
        },
        Setting(key: "webhooks.allow_private", help: "post to addresses in our own network too (false)") {
            $0.webhooksMayGoInside = try boolean($1)
        },
        Setting(
            key: "webhooks.retry_schedule", help: "seconds from each failed try to the next (5,30,120,… for 24 hours)"
        ) {
            $0.webhookSchedule = try list($1).map { Double(try integer($0, 0...86_400)) }
        },
        Setting(
            key: "alerts.url",
            help:
                "https: URL that is told of a trunk, provider, disk or errors that need somebody, "
                + "signed as webhooks (none)"
        ) {
            $0.alerts.url = $1
        },
        Setting(key: "alerts.check_interval", help: "seconds between two looks (10)") {
            $0.alerts.interval = Double(try integer($1, 1...3_600))
        },
        Setting(key: "alerts.disk_free_mb", help: "MiB of free disk below which it is low (512)") {
            $0.alerts.wantedDisk = try integer($1, 1...1 << 30) << 20
        },
        Setting(key: "alerts.errors_per_minute", help: "errors in the log within a minute that are too many (10)") {
            $0.alerts.errorsPerMinute = try integer($1, 1...1_000_000)
        },
        Setting(key: "log.level", help: "trace, debug, info, notice, warning, error (info)") { configuration, text in
            guard let level = Logger.Level(rawValue: text) else { throw ConfigurationError("\(text) is no log level") }
            configuration.logLevel = level
        },
        Setting(key: "log.format", help: "text or json (text)") { configuration, text in
            guard ["text", "json"].contains(text) else { throw ConfigurationError("must be text or json") }
            configuration.logsJSON = text == "json"
        },
        Setting(key: "api_key", help: "the first admin key", isSecret: true) { $0.adminKey = $1 },
    ]

    /// The variables that set a key, its own first.
    static func environmentNames(of key: String) -> [String] {
        [environmentName(key)] + customaryNames.filter { $0.value == key }.map(\.key).sorted()
    }

    /// `outbound.default_gateway` → `TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY`.
    static func environmentName(_ key: String) -> String {
        "TRUNKLINE_" + key.uppercased().replacing(".", with: "_")
    }

    /// Names under which providers' settings are known everywhere.
    private static let customaryNames = [
        "OPENAI_API_KEY": "realtime.openai.api_key", "OPENAI_REALTIME_MODEL": "realtime.openai.model",
        "OPENAI_RESPONSE_VOICE": "realtime.openai.voice", "TWILIO_AUTH_TOKEN": "twilio.auth_token",
        "TWILIO_ACCOUNT_SID": "twilio.account_sid", "TWILIO_API_KEY_SID": "twilio.api_key_sid",
        "TWILIO_API_KEY_SECRET": "twilio.api_key_secret", "GEMINI_API_KEY": "realtime.gemini.api_key",
        "TWILIO_STREAM_ENDPOINT": "twilio.stream_url",
        "APP_PUBLIC_BASE_URL": "public_url", "DEEPGRAM_API_KEY": "stt.deepgram.api_key",
        "CARTESIA_API_KEY": "tts.cartesia.api_key",
        "ELEVENLABS_API_KEY": "tts.elevenlabs.api_key", "GROQ_API_KEY": "llm.groq.api_key",
    ]

    // MARK: Reading

    /// - Parameters:
    ///   - file: by `--config` or `TRUNKLINE_CONFIG`; nil: none.
    ///   - flags: key and value of command-line options.
    static func read(file: String?, flags: [(String, String)], environment: [String: String]) throws -> Configuration {
        var configuration = Configuration()
        var environment = environment
        for (name, value) in try dotEnv() where environment[name] == nil { environment[name] = value }
        if let path = file ?? environment["TRUNKLINE_CONFIG"] { try configuration.read(yaml: path) }
        for (name, key) in customaryNames {
            guard let value = environment[name], !value.isEmpty, environment[environmentName(key)] == nil else {
                continue
            }
            environment[environmentName(key)] = value
        }
        let names = Dictionary(uniqueKeysWithValues: settings.map { (environmentName($0.key), $0) })
        for (name, value) in environment.sorted(by: { $0.key < $1.key })
        where name.hasPrefix("TRUNKLINE_") && name != "TRUNKLINE_CONFIG" {
            guard let setting = names[name] else {
                throw ConfigurationError(
                    "environment: \(name) is not a setting\(suggestion(for: name, among: Array(names.keys)))")
            }
            do { try setting.apply(&configuration, value) } catch {
                throw ConfigurationError("environment: \(name) \(error)")
            }
        }
        for (key, value) in flags {
            guard let setting = settings.first(where: { $0.key == key }) else { continue }
            do { try setting.apply(&configuration, value) } catch { throw ConfigurationError("--\(key): \(error)") }
        }
        try configuration.finish()
        return configuration
    }

    private static func isTrunk(_ text: String) -> Bool {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty, host.utf8.count <= 255,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._:[]".contains($0)) })
        else { return false }
        return parts.count == 1 || ["transport=udp", "transport=tcp", "transport=tls"].contains(parts[1].lowercased())
    }

    /// What sofia wants: a folder with certificate and key in one file, and the authorities in another.
    mutating func prepareSIPTLS() throws {
        guard sip.tlsPort != nil, let certificate, let key else { return }
        let folder = data + "/sip-tls"
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let pair =
                try String(contentsOfFile: key, encoding: .utf8) + "\n"
                + String(contentsOfFile: certificate, encoding: .utf8)
            let authorities =
                try realtime.caFile.map { try String(contentsOfFile: $0, encoding: .utf8) }
                ?? String(contentsOfFile: certificate, encoding: .utf8)
            for (name, text) in [("agent.pem", pair), ("cafile.pem", authorities)] {
                let path = folder + "/" + name
                try? FileManager.default.removeItem(atPath: path)
                guard
                    FileManager.default.createFile(
                        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
                else {
                    throw ConfigurationError("cannot write \(path)")
                }
            }
        } catch let error as ConfigurationError { throw error } catch {
            throw ConfigurationError("sip.tls_port: \(error.localizedDescription)")
        }
        sip.tlsFolder = folder
    }

    /// What is wrong with the pair is told here, by its setting: the libraries that serve it only say that they cannot.
    private func checkedCertificate() throws -> ServerCertificate? {
        guard let certificate, let key else { return nil }
        do throws(ServerCertificate.Problem) {
            return try ServerCertificate(certificate: certificate, key: key)
        } catch {
            switch error {
            case .noCertificate: throw ConfigurationError("tls.certificate: \(certificate) is no certificate (PEM)")
            case .noKey: throw ConfigurationError("tls.key: \(key) is no private key (PEM)")
            case .encryptedKey:
                throw ConfigurationError("tls.key: \(key) needs a password: give the server a key without one")
            case .mismatch:
                throw ConfigurationError("tls.key: \(key) does not belong to tls.certificate \(certificate)")
            }
        }
    }

    private mutating func finish() throws {
        guard (twilioKey == nil) == (twilioKeySecret == nil) else {
            throw ConfigurationError("twilio.api_key_sid and twilio.api_key_secret are needed both")
        }
        if let twilioAccount, let twilioToken {
            var rest = TwilioREST.Configuration(
                accountSID: twilioAccount, secret: twilioKeySecret ?? twilioToken, keySID: twilioKey)
            if let twilioURL { rest.url = twilioURL }
            twilio = rest
        }
        for (isWanted, what) in [
            (gatewayAddress == "twilio", "outbound.default_gateway is twilio"),
            (twilioIsByTurns, "twilio.mode is turns"),
        ] {
            guard isWanted, twilio == nil else { continue }
            throw ConfigurationError("\(what): set TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN and APP_PUBLIC_BASE_URL")
        }
        if let gatewayAddress, Carriers.known(gatewayAddress) != nil {
            calls.routing.gateway = .carrier(gatewayAddress)
        } else if let gatewayAddress {
            let credentials = gatewayUser.map {
                Invitation.Credentials(user: $0, password: gatewayPassword ?? "", realm: gatewayRealm)
            }
            let addresses = Self.list(gatewayAddress)
            guard (1...8).contains(addresses.count), addresses.allSatisfy(Self.isTrunk) else {
                throw ConfigurationError(
                    "outbound.default_gateway must be 1 to 8 of host[:port][;transport=udp|tcp|tls], "
                        + "comma-separated, or \(Carriers.names.joined(separator: ", "))"
                )
            }
            calls.routing.gateway = .sip(
                addresses.map { Routing.Trunk(address: $0, credentials: credentials, outboundProxy: gatewayProxy) })
        }
        calls.routing.isBoundToLoopback = listeners.allSatisfy { SocketAddress.isLoopback($0.host) }
        if let number = calls.operatorNumber {
            do { _ = try calls.routing.route(toSomebody: number) } catch {
                // A carrier dials numbers though no gateway of ours may.
                if error.code == .invalid || twilio == nil {
                    throw ConfigurationError("operators.number: \(error.message)")
                }
            }
        }
        for (user, password) in inboundAccounts {
            calls.inbound.accounts[user] = DigestAuthenticator.Secret(user: user, realm: sipRealm, password: password)
        }
        calls.inbound.brief.language = calls.language
        calls.inbound.brief.maxTurns = calls.maxTurns
        if !SocketAddress.isLoopback(sip.host) {
            // Nobody calls in from the wide world whom nobody has named.
            calls.inbound.numbers = calls.inbound.numbers ?? []
            calls.inbound.trustedSources = calls.inbound.trustedSources ?? []
        }
        calls.recordingsFolder = data + "/recordings"
        try finishStore()
        streams.brief.maxTurns = calls.maxTurns
        streams.brief.language = calls.language
        for (key, path) in [("tls.certificate", certificate), ("tls.key", key), ("tls.ca_file", realtime.caFile)] {
            guard let path, !FileManager.default.isReadableFile(atPath: path) else { continue }
            throw ConfigurationError("\(key): cannot read \(path)")
        }
        if sip.tlsPort != nil, certificate == nil {
            throw ConfigurationError("sip.tls_port needs tls.certificate and tls.key")
        }
        guard (certificate == nil) == (key == nil) else {
            throw ConfigurationError("tls.certificate and tls.key are needed both")
        }
        serverCertificate = try checkedCertificate()
        if streams.isOpen, !SocketAddress.isLoopback(httpHost) {
            throw ConfigurationError(
                "bridge.open_streams lets anybody in: it is refused beyond loopback (http.host is \(httpHost))")
        }
        if twilioToken != nil, publicURL == nil {
            throw ConfigurationError(
                "twilio.auth_token is set, so public_url is needed: signatures cover our address (APP_PUBLIC_BASE_URL)"
            )
        }
        let isVendor = realtime.openAI.url.host == RealtimeSettings.openAIURL.host
        if mode == .realtime, isVendor, realtime.openAI.apiKey == nil, realtime.providers.contains("openai") {
            throw ConfigurationError(
                "agent.mode is realtime: set OPENAI_API_KEY, or realtime.openai.url to another server")
        }
        let isGoogle = realtime.gemini.url == GeminiLive.vendorURL
        if mode == .realtime, isGoogle, realtime.gemini.apiKey == nil, realtime.providers.contains("gemini") {
            throw ConfigurationError(
                "realtime.providers has gemini: set GEMINI_API_KEY, or realtime.gemini.url to another server")
        }
        if calls.voicemail.action == .leaveMessage, calls.voicemail.message == nil {
            throw ConfigurationError("outbound.ai.voicemail is leave_message: set outbound.ai.voicemail_message")
        }
        try finishSpeech()
        _ = try summaryChat()
        if !SocketAddress.isLoopback(httpHost), adminKey == nil {
            throw ConfigurationError(
                "http.host is \(httpHost): to listen beyond loopback, set the first admin key with TRUNKLINE_API_KEY")
        }
        if !SocketAddress.isLoopback(httpHost), certificate == nil, !isBehindProxy {
            throw ConfigurationError(
                "http.host is \(httpHost): beyond loopback keys must not cross the wire in the clear: "
                    + "set tls.certificate and tls.key, "
                    + "or --behind-proxy where a server of yours with TLS stands in front")
        }
    }

    private mutating func finishStore() throws {
        if encryptionKey == nil, let (name, host) = listeners.first(where: { !SocketAddress.isLoopback($0.host) }) {
            throw ConfigurationError(
                "\(name) is \(host): beyond loopback what is stored of people must be encrypted: "
                    + "set TRUNKLINE_SECURITY_ENCRYPTION_KEY"
            )
        }
        if !alerts.url.isEmpty,
            let problem = WebhookSender.problem(with: alerts.url, settings: webhooks(secret: .random()))
        {
            throw ConfigurationError("alerts.url \(problem)")
        }
        if let url = callbackURL, let problem = WebhookSender.problem(with: url, settings: webhooks(secret: .random()))
        {
            throw ConfigurationError("result_callback_url \(problem)")
        }
        webhookEndpoint?.events = webhookEvents
        if let url = webhookEndpoint?.url,
            let problem = WebhookSender.problem(with: url, settings: webhooks(secret: .random()))
        {
            throw ConfigurationError("webhooks.url \(problem)")
        }
        if let url = publicURL, let host = URLComponents(string: url)?.host { hosts.append(host.lowercased()) }
    }

    /// The model that sums calls up; nil: the template does.
    /// - Throws: where it is named and cannot be used.
    func summaryChat() throws -> OpenAIChat.Configuration? {
        guard calls.generatesSummary, summaryModel != "template" else { return nil }
        let own = mode == .cascade ? speech.languageModel.first { $0 != "embedded" } : nil
        guard let summaryModel else {
            if speech.chat["gemini"]?.apiKey != nil {
                return speech.chat["gemini"].map { Self.model("gemini-2.5-flash", of: $0) }
            }
            return own.flatMap { speech.chat[$0] }
        }
        let parts = summaryModel.split(separator: "/", maxSplits: 1).map(String.init)
        let named = parts.count == 2 && speech.chat[parts[0]] != nil
        let provider = named ? parts[0] : summaryModel.hasPrefix("gemini") ? "gemini" : own ?? "openai"
        guard let chat = speech.chat[provider] else {
            throw ConfigurationError("outbound.result.summary_model: there is no provider \(provider)")
        }
        guard chat.apiKey != nil || chat.url != SpeechSettings().chat[provider]?.url || provider == "ollama" else {
            throw ConfigurationError(
                "outbound.result.summary_model is \(summaryModel): set the key of \(provider), or llm.\(provider).url")
        }
        return Self.model(named ? parts[1] : summaryModel, of: chat)
    }

    private static func model(_ name: String, of chat: OpenAIChat.Configuration) -> OpenAIChat.Configuration {
        var chat = chat
        chat.model = name
        return chat
    }

    /// The store in the data folder, or in another one.
    func openStore(in folder: String? = nil) throws(StoreError) -> CallStore {
        try CallStore(
            folder: folder ?? data, vault: Vault(current: encryptionKey, former: formerKeys), plan: calls.routing.plan)
    }

    func webhooks(secret: WebhookSecret) -> WebhookSender.Settings {
        var settings = WebhookSender.Settings(secret: secret)
        settings.schedule = webhookSchedule
        settings.allowsPrivateAddresses = webhooksMayGoInside
        settings.isBoundToLoopback = SocketAddress.isLoopback(httpHost)
        return settings
    }

    /// Every address that a socket of ours is bound to: HTTP with its WebSockets, and SIP (UDP, TCP, TLS) with RTP,
    /// which share one. An advertised address is told to others, and bound to nothing.
    var listeners: [(name: String, host: String)] { [("http.host", httpHost), ("sip.host", sip.host)] }

    /// nil: any. Behind another server the names are its business, unless they are told.
    var knownHosts: Set<String>? {
        if !SocketAddress.isLoopback(httpHost), hosts.isEmpty { return nil }
        return Set(hosts + ["localhost", "127.0.0.1", "[::1]", httpHost])
    }

    /// One key for all of a vendor's services, and none missing where a vendor's own server is used.
    private mutating func finishSpeech() throws {
        if speech.deepgramSpeech.apiKey == nil { speech.deepgramSpeech.apiKey = speech.deepgram.apiKey }
        if speech.transcription.apiKey == nil { speech.transcription.apiKey = realtime.openAI.apiKey }
        if speech.openAISpeech.apiKey == nil { speech.openAISpeech.apiKey = realtime.openAI.apiKey }
        if speech.embeddings.apiKey == nil { speech.embeddings.apiKey = realtime.openAI.apiKey }
        if speech.chat["openai"]?.apiKey == nil { speech.chat["openai"]?.apiKey = realtime.openAI.apiKey }
        if speech.chat["gemini"]?.apiKey == nil { speech.chat["gemini"]?.apiKey = realtime.gemini.apiKey }
        let vendors = SpeechSettings()
        let missing = [
            (
                "stt.providers", "deepgram", "DEEPGRAM_API_KEY",
                speech.deepgram.url == vendors.deepgram.url && speech.deepgram.apiKey == nil
            ),
            (
                "stt.providers", "openai", "OPENAI_API_KEY",
                speech.transcription.url == vendors.transcription.url && speech.transcription.apiKey == nil
            ),
            (
                "tts.providers", "cartesia", "CARTESIA_API_KEY",
                speech.cartesia.url == vendors.cartesia.url && speech.cartesia.apiKey == nil
            ),
            (
                "tts.providers", "elevenlabs", "ELEVENLABS_API_KEY",
                speech.elevenLabs.url == vendors.elevenLabs.url && speech.elevenLabs.apiKey == nil
            ),
            (
                "tts.providers", "deepgram", "DEEPGRAM_API_KEY",
                speech.deepgramSpeech.url == vendors.deepgramSpeech.url && speech.deepgramSpeech.apiKey == nil
            ),
            (
                "tts.providers", "openai", "OPENAI_API_KEY",
                speech.openAISpeech.url == vendors.openAISpeech.url && speech.openAISpeech.apiKey == nil
            ),
        ]
        let inUse = ["stt.providers": speech.speechToText, "tts.providers": speech.textToSpeech]
        for (key, name, variable, isMissing) in missing where isMissing && inUse[key]?.contains(name) == true {
            throw ConfigurationError("\(key) has \(name): set \(variable), or the url of another server")
        }
        for (name, variable) in [("openai", "OPENAI_API_KEY"), ("groq", "GROQ_API_KEY"), ("gemini", "GEMINI_API_KEY")] {
            guard speech.languageModel.contains(name), speech.chat[name]?.url == vendors.chat[name]?.url,
                speech.chat[name]?.apiKey == nil
            else {
                continue
            }
            throw ConfigurationError("llm.providers has \(name): set \(variable), or llm.\(name).url to another server")
        }
    }

    private mutating func read(yaml path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("cannot read the configuration \(path)")
        }
        guard data.count <= 1 << 20 else { throw ConfigurationError("\(path) is larger than 1 MiB") }
        let root: Node?
        do { root = try Yams.compose(yaml: String(decoding: data, as: UTF8.self)) } catch {
            throw ConfigurationError("\(path): \(error)")
        }
        guard var node = root else { return }
        if case .mapping(let mapping) = node, mapping.count == 1, let inner = mapping["ai_voicebot"] { node = inner }
        try read(node, prefix: "", path: path)
    }

    private mutating func read(_ node: Node, prefix: String, path: String) throws {
        func fail(_ at: Node, _ message: String) -> ConfigurationError {
            ConfigurationError("\(path):\(at.mark?.line ?? 0): \(message)")
        }
        guard case .mapping(let mapping) = node else {
            throw fail(node, "\(prefix.isEmpty ? "the file" : prefix) must be a mapping")
        }
        for (name, value) in mapping {
            guard let name = name.string else { throw fail(node, "a key must be text") }
            let key = prefix.isEmpty ? name : prefix + "." + name
            if let setting = Self.settings.first(where: { $0.key == key }) {
                let text: String
                switch value {
                case .scalar(let scalar): text = scalar.string
                case .sequence(let items): text = items.compactMap(\.string).joined(separator: ",")
                default: throw fail(value, "\(key) must be a single value")
                }
                do { try setting.apply(&self, setting.isSecret ? Self.secret(text, key: key) : text) } catch {
                    throw fail(value, "\(key) \(error)")
                }
            } else if Self.settings.contains(where: { $0.key.hasPrefix(key + ".") }) {
                if case .scalar(let scalar) = value, scalar.string.isEmpty { continue }
                try read(value, prefix: key, path: path)
            } else {
                throw fail(
                    value, "\(key) is not a setting\(Self.suggestion(for: key, among: Self.settings.map(\.key)))")
            }
        }
    }

    /// A secret in the file is a reference, `file:/path`; never the secret itself.
    private static func secret(_ text: String, key: String) throws -> String {
        guard text.hasPrefix("file:") else {
            throw ConfigurationError("is a secret: set \(environmentName(key)), or write file:/path/of/the/secret")
        }
        let path = String(text.dropFirst(5))
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ConfigurationError("cannot read \(path)")
        }
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// `.env` of the working folder: NAME=value lines.
    private static func dotEnv() throws -> [(String, String)] {
        guard let data = FileManager.default.contents(atPath: ".env"), data.count <= 1 << 20 else { return [] }
        var result: [(String, String)] = []
        for (number, line) in String(decoding: data, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).enumerated() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.isEmpty || text.hasPrefix("#") { continue }
            guard let equals = text.firstIndex(of: "=") else {
                throw ConfigurationError(".env:\(number + 1): expected NAME=value")
            }
            var value = String(text[text.index(after: equals)...]).trimmingCharacters(in: .whitespaces)
            if value.count >= 2, let quote = value.first, quote == "\"" || quote == "'", value.last == quote {
                value = String(value.dropFirst().dropLast())
            }
            result.append((String(text[..<equals]).trimmingCharacters(in: .whitespaces), value))
        }
        return result
    }

    // MARK: Values

    /// Without a slash at the end.
    private static func webURL(_ text: String) throws -> String {
        guard text.hasPrefix("https://") || text.hasPrefix("http://"), !text.contains("?") else {
            throw ConfigurationError("must be an https:// URL without a query")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
    /// Without a slash at the end.
    private static func webSocketURL(_ text: String) throws -> WebSocketURL {
        guard var url = WebSocketURL(text), !url.path.contains("?") else {
            throw ConfigurationError("must be a ws:// or wss:// URL without a query")
        }
        if url.path.hasSuffix("/") { url.path.removeLast() }
        return url
    }
    private static func names(_ text: String, of known: [String]) throws -> [String] {
        let names = try list(text).map { name in
            guard known.contains(name) else {
                throw ConfigurationError("\(name) is none of: \(known.joined(separator: ", "))")
            }
            return name
        }
        guard !names.isEmpty else {
            throw ConfigurationError("must name at least one of: \(known.joined(separator: ", "))")
        }
        return names
    }
    private static func port(_ text: String) throws -> UInt16 {
        guard let value = UInt16(text) else { throw ConfigurationError("must be a port, 0…65535, not \(text)") }
        return value
    }
    private static func integer(_ text: String, _ range: ClosedRange<Int>) throws -> Int {
        guard let value = Int(text), range.contains(value) else {
            throw ConfigurationError("must be a whole number in \(range.lowerBound)…\(range.upperBound), not \(text)")
        }
        return value
    }
    private static func timeZone(_ text: String) throws -> TimeZone {
        guard let zone = TimeZone(identifier: text) else {
            throw ConfigurationError("must be a time zone such as Asia/Seoul, not \(text)")
        }
        return zone
    }
    private static func boolean(_ text: String) throws -> Bool {
        switch text.lowercased() {
        case "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default: throw ConfigurationError("must be true or false, not \(text)")
        }
    }
    private static func number(_ text: String) throws -> String {
        guard Routing.normalize(text) != nil else {
            throw ConfigurationError("\(text) must be a number of 3 to 15 digits")
        }
        return text
    }

    private static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// ", did you mean …?" for a key that is one or two letters off.
    private static func suggestion(for key: String, among keys: [String]) -> String {
        let best = keys.map { ($0, distance(key, $0)) }.min { $0.1 < $1.1 }
        guard let best, best.1 <= 3 else { return "" }
        return ", did you mean \(best.0)?"
    }
    private static func distance(_ a: String, _ b: String) -> Int {
        let a = Array(a.prefix(80)), b = Array(b.prefix(80))
        var row = Array(0...b.count)
        for i in a.indices {
            var previous = row[0]
            row[0] = i + 1
            for j in b.indices {
                let current = row[j + 1]
                row[j + 1] = a[i] == b[j] ? previous : min(previous, row[j], current) + 1
                previous = current
            }
        }
        return row[b.count]
    }
}
