internal import Foundation
public import Net
internal import Pipeline

/// OpenAI Realtime, GA protocol, over a WebSocket (platform.openai.com/docs/guides/realtime-websocket), and compatible
/// servers at other URLs.
public struct OpenAIRealtime: SpeechModel {
    public struct Configuration: Sendable {
        /// Base URL; the model is added as a query item.
        public var url: WebSocketURL
        public var apiKey: String?
        public var model = "gpt-realtime"
        public var voice = "marin"
        public var isMuLaw = true
        public var turnDetection = SpeechTurnDetection.byServer
        /// nil: what the caller says is not transcribed.
        public var transcriptionModel: String? = "gpt-4o-transcribe"
        public var temperature: Double?
        /// The vendor ends a session after 60 minutes; a new one takes over before, ms.
        public var lifetimeMs: UInt64 = 55 * 60_000
        public init(url: WebSocketURL = OpenAIRealtime.vendorURL) { self.url = url }
    }

    public static let vendorURL = WebSocketURL(
        host: "api.openai.com", port: 443, path: "/v1/realtime", isSecure: true)

    public let name: String
    private let configuration: Configuration
    private let resolver: HostResolver

    public init(_ configuration: Configuration, resolver: HostResolver, name: String = "openai") {
        self.configuration = configuration
        self.resolver = resolver
        self.name = name
    }

    public func open(_ setup: SpeechSessionSetup, on loop: EventLoop) -> any SpeechSession {
        OpenAIRealtimeSession(configuration, setup: setup, resolver: resolver, loop: loop)
    }
}

/// One session. Confined to its loop.
final class OpenAIRealtimeSession: SpeechSession {
    private typealias Read = OpenAIRealtimeReading

    /// Items remembered by number.
    static let itemLimit = 4_096
    var onEvent: ((SpeechSessionEvent) -> Void)?
    var onAudio: ((UnsafeBufferPointer<UInt8>, Int) -> Void)?
    let format: SpeechFormat
    var turnDetection: SpeechTurnDetection { configuration.turnDetection }
    var reportsSpeech: Bool { configuration.turnDetection != .manual }
    let resumptionHandle: String? = nil

    private let configuration: OpenAIRealtime.Configuration
    private let setup: SpeechSessionSetup
    private let socket: ModelSocket
    private var isExpiring = false
    private var hasToldExpiry = false

    // Responses: at most one active, the next ones wait.
    private var activeResponse: [UInt8]?
    private var isRequested = false
    private var waiting = WaitingRequests<String?>()
    private var cancelled: [UInt8] = []
    private var items: [String] = []
    private var currentItem: [UInt8] = []
    private var currentNumber = 0
    private var heardItems: [String: (start: Int?, end: Int?)] = [:]

    init(
        _ configuration: OpenAIRealtime.Configuration, setup: SpeechSessionSetup, resolver: HostResolver?,
        loop: EventLoop, onSend: ((Data) -> Void)? = nil
    ) {
        self.configuration = configuration
        self.setup = setup
        format = configuration.isMuLaw ? .muLaw : .pcm(input: 24_000, output: 24_000)
        var url = configuration.url
        if !url.path.contains("model=") {
            let model =
                configuration.model.addingPercentEncoding(
                    withAllowedCharacters: .alphanumerics.union(.init(charactersIn: "-._"))) ?? ""
            url.path += (url.path.contains("?") ? "&" : "?") + "model=" + model
        }
        let headers = configuration.apiKey.map { [("Authorization", "Bearer " + $0)] } ?? []
        socket = ModelSocket(url, headers: headers, resolver: resolver, loop: loop, onSend: onSend)
        // The session owns the socket, which calls nothing after it is closed.
        socket.handlers = .init(
            open: { [unowned self] in self.configure() }, message: { [unowned self] in self.received($0) },
            tick: { [unowned self] in self.tick(age: $0) }, ended: { [unowned self] in self.ended($0, isFatal: $1) })
    }

    deinit { socket.close() }

    var isCongested: Bool { socket.isCongested }
    func pauseReading() { socket.pauseReading() }
    func resumeReading() { socket.resumeReading() }

    private func tick(age: UInt64) {
        if age > configuration.lifetimeMs { isExpiring = true }
        guard isExpiring, !hasToldExpiry else { return }
        hasToldExpiry = true
        onEvent?(.expiring)
    }

    // MARK: To the model

    func configure() {
        var input: [String: Any] = ["format": formatObject, "turn_detection": turnDetectionObject ?? NSNull()]
        if let model = configuration.transcriptionModel {
            input["transcription"] = ["model": model, "language": LanguageTag.primary(setup.language)]
        }
        send([
            "type": "session.update",
            "session": [
                "type": "realtime", "model": configuration.model, "output_modalities": ["audio"],
                "instructions": setup.instructions,
                "audio": ["input": input, "output": ["format": formatObject, "voice": configuration.voice]]
                    as [String: Any],
                "tools": setup.tools.map { tool in
                    [
                        "type": "function", "name": tool.name, "description": tool.purpose,
                        "parameters": (try? JSONSerialization.jsonObject(with: Data(tool.parameters.utf8))) ?? [:],
                    ] as [String: Any]
                }, "tool_choice": "auto",
            ] as [String: Any],
        ])
        for item in setup.history { remember(item) }
    }

    private var formatObject: [String: Any] {
        configuration.isMuLaw ? ["type": "audio/pcmu"] : ["type": "audio/pcm", "rate": 24_000]
    }

    private var turnDetectionObject: [String: Any]? {
        // We decide about interruptions: a cough must not end the sentence.
        switch configuration.turnDetection {
        case .server(let silenceMs, let threshold, let prefixMs):
            [
                "type": "server_vad", "threshold": threshold, "prefix_padding_ms": prefixMs,
                "silence_duration_ms": silenceMs,
                "create_response": true, "interrupt_response": false,
            ]
        case .semantic(let eagerness):
            ["type": "semantic_vad", "eagerness": eagerness, "create_response": true, "interrupt_response": false]
        case .manual: nil
        }
    }

    private func remember(_ item: ConversationItem) {
        switch item {
        case .assistant(let heard, _) where !heard.isEmpty: message(role: "assistant", kind: "output_text", heard)
        case .caller(let text) where !text.isEmpty: message(role: "user", kind: "input_text", text)
        case .toolResult(let call, let result): note(ToolWords.note(call, result))
        case .keys(let keys): message(role: "user", kind: "input_text", "[keys pressed: \(keys)]")
        default: break
        }
    }

    private func message(role: String, kind: String, _ text: String) {
        send([
            "type": "conversation.item.create",
            "item": ["type": "message", "role": role, "content": [["type": kind, "text": text]]] as [String: Any],
        ])
    }

    func hear(_ bytes: UnsafeBufferPointer<UInt8>) {
        socket.send(bytes, between: #"{"type":"input_audio_buffer.append","audio":""#, and: #""}"#)
    }

    func commitTurn() {
        send(["type": "input_audio_buffer.commit"])
        respond(nil)
    }

    func respond(_ instructions: String?) {
        guard socket.isReady, activeResponse == nil, !isRequested else {
            waiting.append(instructions)
            return
        }
        isRequested = true
        var object: [String: Any] = ["type": "response.create"]
        if let instructions { object["response"] = ["instructions": instructions] }
        send(object)
    }

    func cancelResponse() {
        waiting.removeAll()
        guard let activeResponse else { return }
        cancelled = activeResponse
        send(["type": "response.cancel"])
    }

    func truncate(item: Int, heardMs: Int) {
        guard items.indices.contains(item) else { return }
        send([
            "type": "conversation.item.truncate", "item_id": items[item], "content_index": 0,
            "audio_end_ms": max(0, heardMs),
        ])
    }

    func finishTool(callID: String, output: String) {
        send([
            "type": "conversation.item.create",
            "item": ["type": "function_call_output", "call_id": callID, "output": output],
        ])
    }

    func note(_ text: String) { message(role: "user", kind: "input_text", text) }

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

    func received(_ bytes: UnsafeBufferPointer<UInt8>) {
        var type: JSONMembers.Value?
        var delta: JSONMembers.Value?
        var item: JSONMembers.Value?
        var response: JSONMembers.Value?
        let isObject = JSONMembers.forEach(in: bytes) { key, value in
            if JSONMembers.equals(key, "type") { type = value }
            if JSONMembers.equals(key, "delta") { delta = value }
            if JSONMembers.equals(key, "item_id") { item = value }
            if JSONMembers.equals(key, "response_id") { response = value }
        }
        guard isObject, let type, type.kind == .string else { return socket.misunderstood() }
        let name = UnsafeBufferPointer(rebasing: bytes[type.range])
        if JSONMembers.equals(name, "response.output_audio_transcript.delta") {
            return words(bytes, delta: delta, item: item, response: response)
        }
        guard JSONMembers.equals(name, "response.output_audio.delta") else {
            return other(String(decoding: name, as: UTF8.self), bytes)
        }
        guard let delta, delta.kind == .string, let item, item.kind == .string else { return socket.misunderstood() }
        if let response, !cancelled.isEmpty, bytes[response.range].elementsEqual(cancelled) { return }
        audio(UnsafeBufferPointer(rebasing: bytes[delta.range]), item: UnsafeBufferPointer(rebasing: bytes[item.range]))
    }

    private func words(
        _ bytes: UnsafeBufferPointer<UInt8>, delta: JSONMembers.Value?, item: JSONMembers.Value?,
        response: JSONMembers.Value?
    ) {
        guard let delta, delta.kind == .string, let item, item.kind == .string else { return socket.misunderstood() }
        if let response, !cancelled.isEmpty, bytes[response.range].elementsEqual(cancelled) { return }
        guard let text = JSONMembers.text(delta, in: bytes) else { return socket.misunderstood() }
        onEvent?(.text(text, item: number(of: UnsafeBufferPointer(rebasing: bytes[item.range]))))
    }

    private func audio(_ text: UnsafeBufferPointer<UInt8>, item: UnsafeBufferPointer<UInt8>) {
        let number = number(of: item)
        socket.decode(text) { onAudio?($0, number) }
    }

    private func other(_ type: String, _ bytes: UnsafeBufferPointer<UInt8>) {
        switch type {
        case "session.updated":
            guard !socket.isReady else { return }
            socket.isReady = true
            onEvent?(.ready)
            next()
        case "error": failed(Read.failure(in: bytes))
        case "input_audio_buffer.speech_started":
            if let id = Read.strings(["item_id"], in: bytes)[0] {
                heardItems[id, default: (nil, nil)].start = Read.number("audio_start_ms", in: bytes)
            }
            onEvent?(.callerSpeechStarted)
        case "input_audio_buffer.speech_stopped":
            if let id = Read.strings(["item_id"], in: bytes)[0] {
                heardItems[id, default: (nil, nil)].end = Read.number("audio_end_ms", in: bytes)
            }
            onEvent?(.callerSpeechStopped)
        case "conversation.item.input_audio_transcription.completed":
            transcribed(Read.strings(["item_id", "transcript"], in: bytes))
        case "conversation.item.input_audio_transcription.failed":
            transcribed([Read.strings(["item_id"], in: bytes)[0], ""])
            onEvent?(.warning("transcription failed: \(Read.failure(in: bytes)?.summary ?? "unknown")"))
        case "response.created":
            let wasRequested = isRequested
            isRequested = false
            activeResponse = Array((Read.response(in: bytes)?.id ?? "").utf8)
            onEvent?(.responseStarted(isRequested: wasRequested))
        case "response.output_audio.done":
            let found = Read.strings(["response_id", "item_id"], in: bytes)
            guard !isCancelled(found[0]), let id = found[1] else { return }
            onEvent?(.itemFinished(item: number(of: id)))
        case "response.function_call_arguments.done":
            let found = Read.strings(["response_id", "call_id", "name", "arguments"], in: bytes)
            guard !isCancelled(found[0]), let callID = found[1], let name = found[2] else { return }
            onEvent?(.toolCall(callID: callID, name: name, arguments: found[3] ?? "{}"))
        case "response.done": responseDone(Read.response(in: bytes))
        default: break  // of no use to us, or of a later version
        }
    }

    private func transcribed(_ found: [String?]) {
        let span = found[0].flatMap { heardItems.removeValue(forKey: $0) }
        onEvent?(.callerTranscript(text: found[1] ?? "", startMs: span?.start, endMs: span?.end))
    }

    /// The vendor's id as a small number; a new id gets the next number. Most calls have the same id as the one before.
    private func number(of id: UnsafeBufferPointer<UInt8>) -> Int {
        if !id.elementsEqual(currentItem) {
            currentItem = Array(id)
            currentNumber = number(of: String(decoding: id, as: UTF8.self))
        }
        return currentNumber
    }

    private func number(of id: String) -> Int {
        if let known = items.lastIndex(of: id) { return known }
        // A number is never used twice; beyond the limit a new session must take over.
        if items.count == Self.itemLimit { isExpiring = true }
        items.append(id)
        return items.count - 1
    }
    private func isCancelled(_ response: String?) -> Bool {
        guard let response, !cancelled.isEmpty else { return false }
        return response.utf8.elementsEqual(cancelled)
    }

    private func responseDone(_ response: Read.Response?) {
        let id = response?.id.map { Array($0.utf8) }
        let wasCancelled = id != nil && id == cancelled
        if id == nil || id == activeResponse || activeResponse?.isEmpty == true { activeResponse = nil }
        if wasCancelled { cancelled = [] }
        let status: SpeechResponseStatus =
            switch response?.status {
            case "completed": .completed
            case "cancelled": .cancelled
            case "incomplete": .incomplete
            case "failed": .failed(response?.failure?.summary ?? "unknown")
            default: .completed
            }
        if let usage = response?.usage { onEvent?(.usage(usage)) }
        if status == .cancelled, !wasCancelled { onEvent?(.interruptedByServer) }
        onEvent?(.responseFinished(status))
        next()
    }

    /// The response that waited for the active one to end.
    private func next() {
        guard socket.isReady, !socket.isOver, activeResponse == nil, !isRequested, !waiting.isEmpty else { return }
        respond(waiting.removeFirst())
    }

    private func failed(_ failure: Read.Failure?) {
        let code = failure?.summary ?? "unknown"
        switch code {
        case "conversation_already_has_active_response":
            // Our request crossed a response of the server: ask again when that one is done.
            isRequested = false
            waiting.prepend(nil)
        case "response_cancel_not_active":
            cancelled = []
        case "session_expired": socket.end("session_expired", isFatal: false)
        case "invalid_api_key", "insufficient_quota", "model_not_found", "beta_api_shape_disabled":
            socket.end(code, isFatal: true)
        default:
            if isRequested { isRequested = false }
            onEvent?(.warning("the model reports \(code)"))
            if !socket.isReady { socket.end(code, isFatal: true) }
        }
    }
}
