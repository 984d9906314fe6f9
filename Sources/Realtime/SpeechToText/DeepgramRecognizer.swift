internal import Foundation
public import Net
public import Pipeline

/// Deepgram's streaming WebSocket (developers.deepgram.com/reference/speech-to-text/listen-streaming): interim and
/// final results, `Finalize` at the end of a turn, `KeepAlive` between turns.
///
/// Sound that no final result covers yet is kept: when the connection breaks, a new one gets it again, and nothing said
/// is lost.
public struct DeepgramRecognizer: SpeechToText {
    public struct Configuration: Sendable, Equatable {
        public var url = WebSocketURL(host: "api.deepgram.com", port: 443, path: "", isSecure: true)
        public var apiKey: String?
        public var model = "nova-3"
        /// Silence after which the service takes what was said as a whole, ms.
        public var endpointingMs = 150
        /// Words that are likelier in a call than elsewhere (developers.deepgram.com/docs/keyterm).
        public var keyterms: [String] = []
        /// Silence between words after which it tells that the utterance is over, ms (1 000 at least).
        public var utteranceEndMs = 1_000
        public init() {}
    }

    /// Connections in a row that may fail.
    private static let reconnects = 3
    private static let reconnectDelayMs = 150
    /// Bytes of all key terms in the address: the service takes 500 tokens, and a socket's request must fit its buffer.
    private static let keytermLimit = 4_000
    static let service = "speech-to-text/deepgram"

    private let configuration: Configuration
    private let network: SpeechNetwork
    private let language: String

    /// - Parameter language: of the call, BCP 47.
    public init(_ configuration: Configuration, language: String, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
        self.language = language
    }

    public var sampleRate: Int32 { 8_000 }
    public func recognizes(language: String) -> Bool { true }

    private enum Step: Sendable {
        case input([RecognizerInput])
        case inputEnded
        case opened(WebSocketChannel)
        case message([UInt8])
        case lost(SpeechError)
        case tick
    }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        let steps = Edge<Step>("deepgram", limit: 1_024, whenFull: .wait)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while case .data(let item)? = await Self.payload(input) {
                    var batch = [item]
                    input.drain(into: &batch)
                    try await steps.send(.input(batch))
                }
                try await steps.send(.inputEnded)
            }
            group.addTask {
                while true {
                    try await Task.sleep(for: .milliseconds(DeepgramStream.tickMs))
                    try await steps.send(.tick)
                }
            }
            group.addTask { try await connect(steps, afterMs: 0) }
            defer { group.cancelAll() }
            var stream = DeepgramStream()
            var channel: WebSocketChannel?
            defer { channel?.close() }
            var failures = 0
            while case .data(let step)? = await steps.next() {
                var events: [TranscriptEvent] = []
                switch step {
                case .input(let batch):
                    for item in batch {
                        switch item {
                        case .expect, .paused: break
                        case .audio(let frame): frame.withSamples { stream.heard($0) }
                        case .turnEnded: stream.turnEnded()
                        }
                    }
                case .inputEnded:
                    channel?.send(#"{"type":"CloseStream"}"#)
                    return
                case .opened(let opened):
                    channel = opened
                    stream.connected()
                case .message(let bytes):
                    try stream.received(bytes, into: &events)
                case .lost(let error):
                    channel?.close()
                    channel = nil
                    failures += 1
                    // If the service refuses the connection now, it will refuse the next one, too.
                    if error.kind == .unauthorized || error.kind == .invalid || failures > Self.reconnects {
                        throw error
                    }
                    let delay = Self.reconnectDelayMs << (failures - 1)
                    group.addTask { try await connect(steps, afterMs: delay) }
                    stream.disconnected()
                case .tick: try stream.tick(into: &events)
                }
                for message in stream.outgoing {
                    switch message {
                    case .text(let text): channel?.send(text)
                    case .sound(let bytes): channel?.send(bytes)
                    }
                }
                stream.outgoing.removeAll(keepingCapacity: true)
                for event in events {
                    // A connection counts as good after it has heard a whole turn.
                    if case .final = event { failures = 0 }
                    try await output.send(event)
                }
            }
            try Task.checkCancellation()
        }
    }

    /// Flushes have no meaning here: the caller's words remain.
    private static func payload(_ input: Edge<RecognizerInput>) async -> Signal<RecognizerInput>? {
        while let signal = await input.next() {
            if case .flush = signal { continue }
            return signal
        }
        return nil
    }

    /// The key terms as parameters, as many as there is room for. Nova-2 and what came before it know `keywords`.
    static func keyterms(_ configuration: Configuration) -> [(name: String, value: String)] {
        let isOlder = ["nova-2", "enhanced", "base", "whisper"].contains { configuration.model.hasPrefix($0) }
        let name = isOlder || configuration.model == "nova" ? "keywords" : "keyterm"
        var bytes = 0
        return configuration.keyterms.prefix { term in
            // A byte is three characters at most.
            bytes += name.utf8.count + 3 * term.utf8.count
            return bytes <= keytermLimit
        }.map { (name, $0) }
    }

    private func connect(_ steps: Edge<Step>, afterMs: Int) async throws {
        try await Task.sleep(for: .milliseconds(afterMs))
        var url = configuration.url
        url.path +=
            "/v1/listen?"
            + HTTPForm.encode(
                [
                    ("model", configuration.model), ("language", language), ("encoding", "linear16"),
                    ("sample_rate", String(sampleRate)),
                    ("channels", "1"), ("interim_results", "true"), ("punctuate", "true"), ("smart_format", "true"),
                    ("numerals", "true"),
                    ("endpointing", String(configuration.endpointingMs)),
                    ("utterance_end_ms", String(configuration.utteranceEndMs)),
                    ("vad_events", "true"),
                ] + Self.keyterms(configuration))
        let headers = configuration.apiKey.map { [("authorization", "Token " + $0)] } ?? []
        do {
            let channel = try await network.open(url, headers: headers, service: Self.service)
            defer { channel.close() }
            try await steps.send(.opened(channel))
            do {
                while true {
                    if case .text(let bytes) = try await channel.next() { try await steps.send(.message(bytes)) }
                }
            } catch let failure as WebSocketChannel.Failure {
                try await steps.send(.lost(SpeechError("\(Self.service): \(failure.message)", .broken)))
            }
        } catch let error as SpeechError {
            try await steps.send(.lost(error))
        }
    }
}

/// What is sent, kept and understood on a stream that may break. No clock: `tick` comes every `tickMs`.
struct DeepgramStream: Sendable {
    static let tickMs = 200
    /// The service hangs up after 10 s without sound or `KeepAlive`.
    private static let keepAliveMs = 4_000
    /// From `Finalize` until the text so far counts as complete, ms: the service reports nothing for silence.
    private static let finalizeLimitMs = 1_200
    /// Sound kept for a new connection, samples: 60 s at 8 kHz.
    private static let keptLimit = 480_000
    /// A turn of more samples than this gets at least an empty result from a service that works: 600 ms.
    private static let mutedSamples = 4_800
    /// Messages that cannot be understood, in a row.
    private static let errorLimit = 20
    /// Samples of one message: 20 ms.
    private static let messageSamples = 160

    enum Outgoing: Equatable, Sendable {
        case text(String)
        case sound([UInt8])
    }

    /// To be sent now, in this order.
    var outgoing: [Outgoing] = []

    private var isConnected = false
    /// Samples that no final result covers.
    private var kept: [Int16] = []
    /// Samples of this connection that final results cover, and that were sent.
    private var covered = 0
    private var sent = 0
    /// Final pieces of the turn, and what came of it last.
    private var pieces: [(text: String, confidence: Double)] = []
    private var awaitsFinal = false
    private var finalizedTicks = 0
    private var quietTicks = 0
    /// A result has come since the turn before.
    private var hasAnswered = false
    private var malformed = 0

    mutating func heard(_ samples: some Collection<Int16>) {
        kept += samples
        if kept.count > Self.keptLimit { kept.removeFirst(kept.count - Self.keptLimit) }
        if isConnected { send(kept.suffix(samples.count)) }
    }

    private mutating func send(_ samples: ArraySlice<Int16>) {
        quietTicks = 0
        sent += samples.count
        outgoing.append(.sound(samples.withUnsafeBytes { Array($0) }))
    }

    mutating func turnEnded() {
        awaitsFinal = true
        finalizedTicks = 0
        if isConnected { outgoing.append(.text(#"{"type":"Finalize"}"#)) }
    }

    /// A new connection counts its time from 0, and hears again what is not certain yet.
    mutating func connected() {
        isConnected = true
        covered = 0
        sent = 0
        for start in stride(from: 0, to: kept.count, by: Self.messageSamples) {
            send(kept[start..<min(start + Self.messageSamples, kept.count)])
        }
        if awaitsFinal {
            finalizedTicks = 0
            outgoing.append(.text(#"{"type":"Finalize"}"#))
        }
    }

    mutating func disconnected() {
        isConnected = false
        finalizedTicks = 0
    }

    /// - Throws: `SpeechError` if the service reports nothing at all for the sound that it got.
    mutating func tick(into events: inout [TranscriptEvent]) throws(SpeechError) {
        guard isConnected else { return }
        quietTicks += 1
        if quietTicks * Self.tickMs >= Self.keepAliveMs {
            quietTicks = 0
            outgoing.append(.text(#"{"type":"KeepAlive"}"#))
        }
        guard awaitsFinal else { return }
        finalizedTicks += 1
        guard finalizedTicks * Self.tickMs >= Self.finalizeLimitMs else { return }
        if !hasAnswered, kept.count > Self.mutedSamples {
            throw SpeechError(
                "\(DeepgramRecognizer.service) said nothing of a turn within \(Self.finalizeLimitMs) ms of its end",
                .stalled)
        }
        finish(&events)
    }

    private struct Message: Decodable {
        struct Channel: Decodable {
            struct Alternative: Decodable {
                var transcript: String
                var confidence: Double?
            }
            var alternatives: [Alternative]
        }
        var type: String
        var start: Double?
        var duration: Double?
        var isFinal: Bool?
        var speechFinal: Bool?
        var fromFinalize: Bool?
        var channel: Channel?
        var description: String?
        var message: String?

        enum CodingKeys: String, CodingKey {
            case type, start, duration, channel, description, message
            case isFinal = "is_final"
            case speechFinal = "speech_final"
            case fromFinalize = "from_finalize"
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            type = try members.decode(String.self, forKey: .type)
            // `channel` is an array of numbers in other messages.
            guard type == "Results" else {
                description = try? members.decode(String.self, forKey: .description)
                message = try? members.decode(String.self, forKey: .message)
                return
            }
            start = try members.decodeIfPresent(Double.self, forKey: .start)
            duration = try members.decodeIfPresent(Double.self, forKey: .duration)
            isFinal = try members.decodeIfPresent(Bool.self, forKey: .isFinal)
            speechFinal = try members.decodeIfPresent(Bool.self, forKey: .speechFinal)
            fromFinalize = try members.decodeIfPresent(Bool.self, forKey: .fromFinalize)
            channel = try members.decode(Channel.self, forKey: .channel)
        }
    }

    /// - Throws: `SpeechError` if the service says that it cannot go on, or if none of its messages can be understood.
    mutating func received(_ bytes: [UInt8], into events: inout [TranscriptEvent]) throws(SpeechError) {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(bytes)) else {
            malformed += 1
            if malformed > Self.errorLimit {
                throw SpeechError("\(DeepgramRecognizer.service) sent what cannot be understood", .broken)
            }
            return
        }
        malformed = 0
        switch message.type {
        case "Results":
            hasAnswered = true
            results(message, into: &events)
        case "UtteranceEnd": if awaitsFinal { finish(&events) } else { tellPause(&events) }
        case "Error":
            let words = message.description ?? message.message ?? "no reason given"
            throw SpeechError("\(DeepgramRecognizer.service): \(words.prefix(300))", .broken)
        default: break  // Metadata, SpeechStarted, and what is new
        }
    }

    private mutating func results(_ message: Message, into events: inout [TranscriptEvent]) {
        let best = message.channel?.alternatives.first
        let text = (best?.transcript ?? "").trimmingCharacters(in: .whitespaces)
        guard message.isFinal == true else {
            if !text.isEmpty { events.append(.interim((pieces.map(\.text) + [text]).joined(separator: " "))) }
            return
        }
        cover(until: (message.start ?? 0) + (message.duration ?? 0))
        if !text.isEmpty { pieces.append((text, best?.confidence ?? 0)) }
        if awaitsFinal, message.fromFinalize == true { return finish(&events) }
        if !text.isEmpty { events.append(.interim(known)) }
        if message.speechFinal == true { tellPause(&events) }
    }

    private var known: String { pieces.map(\.text).joined(separator: " ") }

    private func tellPause(_ events: inout [TranscriptEvent]) {
        if !pieces.isEmpty { events.append(.pause(known)) }
    }

    /// The results for the sound up to this second of the connection are final.
    private mutating func cover(until seconds: Double) {
        let end = min(sent, Int(clampingDouble: max(0, seconds) * 8_000))
        guard end > covered else { return }
        kept.removeFirst(min(kept.count, end - covered))
        covered = end
    }

    private mutating func finish(_ events: inout [TranscriptEvent]) {
        awaitsFinal = false
        let confidence = pieces.isEmpty ? nil : pieces.map(\.confidence).reduce(0, +) / Double(pieces.count)
        events.append(.final(text: known, confidence: confidence))
        pieces = []
        hasAnswered = false
        // The turn has been reported: the rest of its sound must not be reported again.
        covered += kept.count
        kept = []
        covered = min(covered, sent)
    }
}
