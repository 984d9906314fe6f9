internal import Foundation
internal import Net

/// What sherpa-onnx does on this machine, where it is set up.
public struct LocalEngines: Sendable {
    /// The recogniser of a call in a language.
    public var recognizer: (@Sendable (_ language: String) -> any SpeechToText)?
    public var voice: (any TextToSpeech)?

    public init() {}

    /// Loads what the settings name.
    /// - Throws: `SpeechError` with the missing part.
    public init(_ settings: SpeechSettings, folder: String, workers: WorkerPool) throws(SpeechError) {
        guard settings.speechToText.contains("sherpa") || settings.textToSpeech.contains("sherpa") else { return }
        let pack = try SpeechPack(folder: folder)
        if settings.speechToText.contains("sherpa") {
            let loaded = try SherpaRecognizer(pack: pack, workers: workers)
            recognizer = { loaded.speaking($0) }
        }
        if settings.textToSpeech.contains("sherpa") { voice = try SherpaSpeech(pack: pack, workers: workers) }
    }
}

/// The engines by their names: builds those of a call, and asks each service whether it would let us in.
public struct SpeechCatalog: Sendable {
    private var settings: SpeechSettings
    private let network: SpeechNetwork
    private let embedded: SpeechEngines
    public let health: ProviderHealth
    private let local: LocalEngines
    private let report: EngineReport

    public init(
        _ settings: SpeechSettings, network: SpeechNetwork, embedded: SpeechEngines,
        local: LocalEngines = LocalEngines(), health: ProviderHealth = ProviderHealth(),
        report: @escaping EngineReport
    ) {
        PolicyTexts.load()
        self.local = local
        self.settings = settings
        self.network = network
        self.embedded = embedded
        self.health = health
        self.report = report
    }

    /// The engines of a call in this language; what they use is counted.
    /// - Parameters:
    ///   - profile: what its agent says of them.
    ///   - knowledge: looked up before a model is asked.
    public func engines(
        language: String, profile: AgentProfile? = nil, knowledge: (any Knowledge)? = nil, usage: UsageMeter? = nil
    ) -> SpeechEngines {
        var own = self
        own.settings = settings.applying(profile)
        return own.engines(language: language, of: profile, knowledge, usage)
    }

    private func engines(
        language: String, of profile: AgentProfile?, _ knowledge: (any Knowledge)?, _ usage: UsageMeter?
    ) -> SpeechEngines {
        let spoken = profile?.speechToText.language ?? language
        let recognizers = settings.speechToText.map {
            NamedEngine<any SpeechToText>("speech-to-text/" + $0, recognizer($0, spoken))
        }
        let models = settings.languageModel.map {
            NamedEngine<any LanguageModel>("language-model/" + $0, model($0, usage))
        }
        let voices = settings.textToSpeech.map {
            NamedEngine<any TextToSpeech>("text-to-speech/" + $0, voice($0, profile?.textToSpeech))
        }
        var asked: any LanguageModel = FallbackLanguageModel(models, health: health, report: report)
        let isRules = settings.languageModel.first == "embedded"
        if let knowledge {
            // The dialogue of rules reads no knowledge: a pair is answered with its own words, or not at all.
            asked = InformedLanguageModel(
                asked, knowledge: knowledge, answersDirectly: isRules || profile?.knowledge.answersDirectly ?? true)
        }
        let hearing = recognizer(recognizers.filter { $0.engine.recognizes(language: spoken) }, usage)
        var engines = SpeechEngines(
            speechToText: spoken == language ? hearing : BoundRecognizer(hearing, language: spoken),
            languageModel: asked,
            textToSpeech: voice(
                voices.filter { $0.engine.speaks(language: language) }, profile?.textToSpeech, usage))
        engines.asksAtOnce = isRules
        return engines
    }

    /// A voice alone.
    public func voice(
        language: String, profile: AgentProfile? = nil, usage: UsageMeter? = nil
    ) -> any TextToSpeech {
        engines(language: language, profile: profile, usage: usage).textToSpeech
    }

    private func recognizer(_ able: [NamedEngine<any SpeechToText>], _ usage: UsageMeter?) -> any SpeechToText {
        able.isEmpty ? embedded.speechToText : FallbackRecognizer(able, health: health, usage: usage, report: report)
    }

    private func voice(
        _ able: [NamedEngine<any TextToSpeech>], _ choice: AgentProfile.TextToSpeech?, _ usage: UsageMeter?
    ) -> any TextToSpeech {
        able.isEmpty
            ? adjusted(embedded.textToSpeech, choice)
            : FallbackSpeech(able, health: health, usage: usage, report: report)
    }

    /// A voice on this machine, as an agent wants it.
    private func adjusted(_ voice: any TextToSpeech, _ choice: AgentProfile.TextToSpeech?) -> any TextToSpeech {
        guard let choice, let adjustable = voice as? any AdjustableSpeech else { return voice }
        return adjustable.adjusted(voice: choice.voice, speed: choice.speed)
    }

    private func recognizer(_ name: String, _ language: String) -> any SpeechToText {
        switch name {
        case "deepgram": DeepgramRecognizer(settings.deepgram, language: language, network: network)
        case "sherpa": local.recognizer?(language) ?? embedded.speechToText
        case "openai": OpenAITranscription(settings.transcription, language: language, network: network)
        default: embedded.speechToText
        }
    }

    private func model(_ name: String, _ usage: UsageMeter?) -> any LanguageModel {
        settings.chat[name].map { OpenAIChat($0, network: network, usage: usage) } ?? embedded.languageModel
    }

    private func voice(_ name: String, _ choice: AgentProfile.TextToSpeech?) -> any TextToSpeech {
        switch name {
        case "cartesia": CartesiaSpeech(settings.cartesia, network: network)
        case "sherpa": adjusted(local.voice ?? embedded.textToSpeech, choice)
        case "elevenlabs": ElevenLabsSpeech(settings.elevenLabs, network: network)
        case "deepgram": DeepgramSpeech(settings.deepgramSpeech, network: network)
        case "openai": OpenAISpeech(settings.openAISpeech, network: network)
        default: adjusted(embedded.textToSpeech, choice)
        }
    }

    /// How every engine in use stands, in the order they are tried.
    public var statuses: [ProviderHealth.Status] {
        health.statuses(
            of: settings.speechToText.map { "speech-to-text/" + $0 }
                + settings.languageModel.map { "language-model/" + $0 }
                + settings.textToSpeech.map { "text-to-speech/" + $0 })
    }

    // MARK: Checking

    /// What a service says to our key, without anything that costs money.
    public struct Check: Sendable, Equatable {
        public var name: String
        /// nil: it works.
        public var failure: String?
    }

    public func check() async -> [Check] {
        var checks: [Check] = []
        for status in statuses {
            let parts = status.name.split(separator: "/", maxSplits: 1).map(String.init)
            do {
                try await check(kind: parts[0], name: parts[1])
                checks.append(Check(name: status.name))
            } catch { checks.append(Check(name: status.name, failure: "\(error)")) }
        }
        return checks
    }

    private func check(kind: String, name: String) async throws {
        switch (kind, name) {
        case (_, "embedded"), (_, "sherpa"): return  // loaded already
        case ("speech-to-text", "deepgram"):
            var url = settings.deepgram.url
            url.path +=
                "/v1/listen?"
                + HTTPForm.encode([
                    ("model", settings.deepgram.model), ("encoding", "linear16"), ("sample_rate", "8000"),
                ])
            let headers = settings.deepgram.apiKey.map { [("authorization", "Token " + $0)] } ?? []
            try await network.open(url, headers: headers, service: kind + "/" + name).close()
        case ("speech-to-text", _):
            try await get(settings.transcription.url + "/models", key: settings.transcription.apiKey, kind + "/" + name)
        case ("text-to-speech", "cartesia"):
            let base = Self.web(settings.cartesia.url)
            try await get(
                base + "/voices?limit=1", key: settings.cartesia.apiKey,
                headers: [("cartesia-version", settings.cartesia.version)], kind + "/" + name
            )
        case ("text-to-speech", "deepgram"): try await DeepgramSpeech.connect(settings.deepgramSpeech, network).close()
        case ("text-to-speech", "elevenlabs"):
            let key = settings.elevenLabs.apiKey.map { [("xi-api-key", $0)] } ?? []
            try await get(Self.web(settings.elevenLabs.url) + "/v1/voices", key: nil, headers: key, kind + "/" + name)
        case ("text-to-speech", _):
            try await get(settings.openAISpeech.url + "/models", key: settings.openAISpeech.apiKey, kind + "/" + name)
        default:
            guard let chat = settings.chat[name] else { return }
            try await get(chat.url + "/models", key: chat.apiKey, kind + "/" + name)
        }
    }

    private static func web(_ url: WebSocketURL) -> String {
        "\(url.isSecure ? "https" : "http")://\(url.host):\(url.port)\(url.path)"
    }

    private func get(_ url: String, key: String?, headers: [(name: String, value: String)] = [], _ service: String)
        async throws
    {
        var request = HTTPClientRequest("GET", url, headers: headers)
        if let key { request.headers.append(("authorization", "Bearer " + key)) }
        request.responseTimeoutMs = 10_000
        do { _ = try await network.send(request, service: service).body.collect(limit: 8 << 20) } catch let error
            as NetError
        {
            throw SpeechError("\(service): \(error.message)")
        }
    }
}
