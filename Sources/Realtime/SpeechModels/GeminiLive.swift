internal import Foundation
public import Net

/// Gemini Live (ai.google.dev/api/live) over a WebSocket: 16 kHz in, 24 kHz out, its server decides the caller's turns.
public struct GeminiLive: SpeechModel {
    public struct Configuration: Sendable {
        public var url: WebSocketURL
        public var apiKey: String?
        public var model = "gemini-2.5-flash-native-audio"
        public var voice: String?
        public init(url: WebSocketURL = GeminiLive.vendorURL) { self.url = url }
    }

    public static let vendorURL = WebSocketURL(
        host: "generativelanguage.googleapis.com", port: 443,
        path: "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", isSecure: true)

    public let name: String
    private let configuration: Configuration
    private let resolver: HostResolver

    public init(_ configuration: Configuration, resolver: HostResolver, name: String = "gemini") {
        self.configuration = configuration
        self.resolver = resolver
        self.name = name
    }

    public func open(_ setup: SpeechSessionSetup, on loop: EventLoop) -> any SpeechSession {
        GeminiLiveSession(configuration, setup: setup, resolver: resolver, loop: loop)
    }
}

/// One session. Confined to its loop.
///
/// The vendor has no names for responses and items: a response begins with its first content and ends with
/// `turnComplete`, and has one item. Responses cannot be cancelled either: the rest of an unwanted response is dropped.
final class GeminiLiveSession: SpeechSession {
    static let rates: (input: Int32, output: Int32) = (16_000, 24_000)

    var onEvent: ((SpeechSessionEvent) -> Void)?
    var onAudio: ((UnsafeBufferPointer<UInt8>, Int) -> Void)?
    let format = SpeechFormat.pcm(input: rates.input, output: rates.output)
    let turnDetection = SpeechTurnDetection.byServer
    let reportsSpeech = false
    let goesOnAfterTools = true
    private(set) var resumptionHandle: String?

    private let configuration: GeminiLive.Configuration
    private let setup: SpeechSessionSetup
    private let socket: ModelSocket

    private var item = -1
    private var isResponding = false
    private var isDropping = false
    private var wasInterrupted = false
    private var requests = 0
    private var waiting = WaitingRequests<String>()
    private var heard = ""
    private var toolNames: [String: String] = [:]

    init(
        _ configuration: GeminiLive.Configuration, setup: SpeechSessionSetup, resolver: HostResolver?, loop: EventLoop,
        onSend: ((Data) -> Void)? = nil
    ) {
        self.configuration = configuration
        self.setup = setup
        let headers = configuration.apiKey.map { [("x-goog-api-key", $0)] } ?? []
        // 1007 and 1008 say that the set-up or the key is not acceptable.
        socket = ModelSocket(
            configuration.url, headers: headers, fatalCodes: [1_007, 1_008], resolver: resolver, loop: loop,
            onSend: onSend)
        // The session owns the socket, which calls nothing after it is closed.
        socket.handlers = .init(
            open: { [unowned self] in self.configure() }, message: { [unowned self] in self.received($0) },
            ended: { [unowned self] in self.ended($0, isFatal: $1) })
    }

    deinit { socket.close() }

    var isCongested: Bool { socket.isCongested }
    func pauseReading() { socket.pauseReading() }
    func resumeReading() { socket.resumeReading() }

    // MARK: To the model

    func configure() {
        var generation: [String: Any] = ["responseModalities": ["AUDIO"]]
        var speech: [String: Any] = ["languageCode": setup.language]
        if let voice = configuration.voice { speech["voiceConfig"] = ["prebuiltVoiceConfig": ["voiceName": voice]] }
        generation["speechConfig"] = speech
        let declarations = setup.tools.map { tool in
            var declaration: [String: Any] = [
                "name": tool.name, "description": tool.purpose,
                "parametersJsonSchema": (try? JSONSerialization.jsonObject(with: Data(tool.parameters.utf8))) ?? [:],
            ]
            // ai.google.dev/gemini-api/docs/live-tools: the model talks on while the tool works, where it can.
            if tool.isSlow { declaration["behavior"] = "NON_BLOCKING" }
            return declaration
        }
        var resumption: [String: Any] = [:]
        if let handle = setup.resumptionHandle { resumption["handle"] = handle }
        send([
            "setup": [
                "model": "models/" + configuration.model, "generationConfig": generation,
                "systemInstruction": ["parts": [["text": setup.instructions]]],
                "tools": [["functionDeclarations": declarations]],
                // We decide about interruptions: a cough must not end the sentence.
                "realtimeInputConfig": ["activityHandling": "NO_INTERRUPTION"],
                "inputAudioTranscription": [:] as [String: Any],
                "outputAudioTranscription": [:] as [String: Any], "sessionResumption": resumption,
                "contextWindowCompression": ["slidingWindow": [:] as [String: Any]],
            ] as [String: Any]
        ])
    }

    func hear(_ bytes: UnsafeBufferPointer<UInt8>) {
        socket.send(
            bytes, between: #"{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":""#, and: #""}}}"#)
    }

    func commitTurn() {}

    func respond(_ instructions: String?) {
        let text = instructions.map { "[\($0)]" } ?? "[Go on.]"
        guard socket.isReady, !isResponding, requests == 0 else { return waiting.append(text) }
        requests += 1
        say(role: "user", text, isComplete: true)
    }

    func cancelResponse() {
        waiting.removeAll()
        if isResponding { isDropping = true }
    }

    func truncate(item: Int, heardMs: Int) {
        // There is no message for it; the model is told in words.
        note("[The other party interrupted and heard only the first \(Double(heardMs / 100) / 10) seconds of that.]")
    }

    func note(_ text: String) { say(role: "user", text, isComplete: false) }

    func finishTool(callID: String, output: String) {
        let object = (try? JSONSerialization.jsonObject(with: Data(output.utf8))) ?? ["output": output]
        send([
            "toolResponse": [
                "functionResponses": [
                    ["id": callID, "name": toolNames.removeValue(forKey: callID) ?? "", "response": object]
                        as [String: Any]
                ]
            ]
        ])
    }

    private func say(role: String, _ text: String, isComplete: Bool) {
        send([
            "clientContent": [
                "turns": [["role": role, "parts": [["text": text]]] as [String: Any]], "turnComplete": isComplete,
            ] as [String: Any]
        ])
    }

    private func send(_ object: [String: Any]) { socket.send(object) }

    func close() {
        onEvent = nil
        onAudio = nil
        socket.close()
    }

    private func ended(_ reason: String, isFatal: Bool) {
        let report = onEvent
        onEvent = nil
        onAudio = nil
        report?(.closed(reason: reason, isFatal: isFatal))
    }

    // MARK: From the model

    private typealias Text = UnsafeBufferPointer<UInt8>

    func received(_ bytes: UnsafeBufferPointer<UInt8>) {
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            let inner = Text(rebasing: bytes[value.range])
            if JSONMembers.equals(key, "serverContent") { content(inner) }
            if JSONMembers.equals(key, "setupComplete") { ready() }
            if JSONMembers.equals(key, "toolCall") { called(inner) }
            if JSONMembers.equals(key, "usageMetadata") { used(inner) }
            if JSONMembers.equals(key, "goAway") { onEvent?(.expiring) }
            if JSONMembers.equals(key, "sessionResumptionUpdate") { resumable(inner) }
        }
        if !isObject { socket.misunderstood() }
    }

    /// ai.google.dev/api/live#UsageMetadata. Without details by kind all of it is counted as text.
    private func used(_ bytes: Text) {
        var usage = TokenUsage()
        func number(_ range: Range<Int>, in bytes: Text) -> Int {
            Double(String(decoding: bytes[range], as: UTF8.self)).map { max(0, Int(clampingDouble: $0)) } ?? 0
        }
        /// Tokens of sound in a list such as `[{"modality": "AUDIO", "tokenCount": 5}]`.
        func sound(_ list: Text) -> Int {
            var total = 0
            _ = JSONMembers.forEachElement(in: list) { element in
                let entry = Text(rebasing: list[element.range])
                var count = 0
                var isSound = false
                _ = JSONMembers.forEach(in: entry) { key, value in
                    if JSONMembers.equals(key, "tokenCount") { count = number(value.range, in: entry) }
                    if JSONMembers.equals(key, "modality") { isSound = JSONMembers.text(value, in: entry) == "AUDIO" }
                }
                if isSound { total += count }
            }
            return total
        }
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "promptTokenCount") { usage.input = number(value.range, in: bytes) }
            if JSONMembers.equals(key, "cachedContentTokenCount") { usage.cachedInput = number(value.range, in: bytes) }
            if JSONMembers.equals(key, "responseTokenCount") { usage.output = number(value.range, in: bytes) }
            if JSONMembers.equals(key, "promptTokensDetails") {
                usage.audioInput = sound(Text(rebasing: bytes[value.range]))
            }
            if JSONMembers.equals(key, "responseTokensDetails") {
                usage.audioOutput = sound(Text(rebasing: bytes[value.range]))
            }
        }
        usage.input = max(0, usage.input - usage.cachedInput - usage.audioInput)
        usage.output = max(0, usage.output - usage.audioOutput)
        onEvent?(.usage(usage))
    }

    private func ready() {
        guard !socket.isReady else { return }
        socket.isReady = true
        if setup.resumptionHandle == nil {
            for item in setup.history {
                switch item {
                case .assistant(let heard, _) where !heard.isEmpty: say(role: "model", heard, isComplete: false)
                case .caller(let text) where !text.isEmpty: say(role: "user", text, isComplete: false)
                case .toolResult(let call, let result): note(ToolWords.note(call, result))
                default: break
                }
            }
        }
        onEvent?(.ready)
        next()
    }

    private func content(_ bytes: Text) {
        var isOver = false
        _ = JSONMembers.forEach(in: bytes) { key, value in
            let inner = Text(rebasing: bytes[value.range])
            if JSONMembers.equals(key, "modelTurn") { turn(inner) }
            if JSONMembers.equals(key, "inputTranscription"), let text = text(in: inner) { heard += text }
            if JSONMembers.equals(key, "outputTranscription"), let text = text(in: inner) {
                begin()
                if !isDropping { onEvent?(.text(text, item: item)) }
            }
            if JSONMembers.equals(key, "interrupted"), JSONMembers.equals(inner, "true") { wasInterrupted = true }
            if JSONMembers.equals(key, "turnComplete"), JSONMembers.equals(inner, "true") { isOver = true }
        }
        if wasInterrupted, !isOver, isResponding, !isDropping {
            isDropping = true
            onEvent?(.interruptedByServer)
        }
        if isOver { finish() }
    }

    private func text(in bytes: Text) -> String? {
        var result: String?
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "text") { result = JSONMembers.text(value, in: bytes) }
        }
        return result
    }

    /// The first content of a response: the caller's words before it are complete.
    private func begin() {
        guard !isResponding else { return }
        isResponding = true
        isDropping = false
        item += 1
        let isRequested = requests > 0
        requests = 0
        onEvent?(.responseStarted(isRequested: isRequested))
        tellHeard()
    }

    private func tellHeard() {
        guard !heard.isEmpty else { return }
        let text = heard
        heard = ""
        onEvent?(.callerTranscript(text: text, startMs: nil, endMs: nil))
    }

    private func turn(_ bytes: Text) {
        _ = JSONMembers.forEach(in: bytes) { key, value in
            guard value.kind == .array, JSONMembers.equals(key, "parts") else { return }
            let parts = Text(rebasing: bytes[value.range])
            let isArray = JSONMembers.forEachElement(in: parts) { part in
                guard part.kind == .object else { return }
                sound(Text(rebasing: parts[part.range]))
            }
            if !isArray { socket.misunderstood() }
        }
    }

    private func sound(_ part: Text) {
        _ = JSONMembers.forEach(in: part) { key, value in
            guard value.kind == .object, JSONMembers.equals(key, "inlineData") else { return }
            let inline = Text(rebasing: part[value.range])
            _ = JSONMembers.forEach(in: inline) { key, value in
                guard value.kind == .string, JSONMembers.equals(key, "data") else { return }
                begin()
                if !isDropping { audio(Text(rebasing: inline[value.range])) }
            }
        }
    }

    private func audio(_ text: Text) {
        let number = item
        socket.decode(text) { onAudio?($0, number) }
    }

    private func finish() {
        defer { wasInterrupted = false }
        // A turn without any content: the model chose to say nothing.
        begin()
        let wasDropped = isDropping
        isResponding = false
        isDropping = false
        if !wasDropped { onEvent?(.itemFinished(item: item)) }
        onEvent?(.responseFinished(wasDropped || wasInterrupted ? .cancelled : .completed))
        next()
    }

    private func next() {
        guard socket.isReady, !socket.isOver, !isResponding, requests == 0, !waiting.isEmpty else { return }
        requests += 1
        say(role: "user", waiting.removeFirst(), isComplete: true)
    }

    private func called(_ bytes: Text) {
        guard let calls = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any],
            let list = calls["functionCalls"] as? [[String: Any]]
        else { return socket.misunderstood() }
        begin()
        for call in list {
            guard let name = call["name"] as? String else { continue }
            let id = call["id"] as? String ?? name
            toolNames[id] = name
            let arguments =
                (try? JSONSerialization.data(withJSONObject: call["args"] as? [String: Any] ?? [:])) ?? Data("{}".utf8)
            onEvent?(.toolCall(callID: id, name: name, arguments: String(decoding: arguments, as: UTF8.self)))
        }
    }

    private func resumable(_ bytes: Text) {
        _ = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "newHandle"), let handle = JSONMembers.text(value, in: bytes), !handle.isEmpty {
                resumptionHandle = handle
            }
        }
    }
}
