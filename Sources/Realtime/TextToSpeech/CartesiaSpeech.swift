internal import Foundation
public import Net
public import Pipeline

/// Cartesia's WebSocket (docs.cartesia.ai/api-reference/tts/websocket): one connection a call, one context a turn, so
/// that the voice goes on from sentence to sentence; `flush_id` tells which sentence a piece of sound belongs to.
public struct CartesiaSpeech: TextToSpeech {
    public struct Configuration: Sendable, Equatable {
        public var url = WebSocketURL(host: "api.cartesia.ai", port: 443, path: "", isSecure: true)
        public var apiKey: String?
        public var version = "2026-08-14"
        public var model = "sonic-3"
        public var voice = "694f9389-aac1-45b6-b726-9d9369183238"
        /// 1 is the voice's own pace; nil: nothing is said of it.
        public var speed: Double?
        public init() {}
    }

    static let service = "text-to-speech/cartesia"
    static let sampleRate: Int32 = 8_000
    /// Of `generation_config.speed` (docs.cartesia.ai, "Volume, speed, and emotion").
    static let speeds = 0.6...1.5

    private let configuration: Configuration
    private let network: SpeechNetwork

    public init(_ configuration: Configuration, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
    }

    public func speaks(language: String) -> Bool { true }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        let session = CartesiaSession(configuration, network: network)
        do {
            try await session.open()
            try await SentenceStreams(sampleRate: Self.sampleRate) { sentence, pieces in
                try await session.speak(sentence, pieces)
            }.run(from: input, to: output)
        } catch {
            await session.close()
            throw error
        }
        await session.close()
    }
}

/// One connection with its contexts.
private actor CartesiaSession {
    /// Milliseconds between two messages while a sentence is being spoken.
    private static let stallLimitMs = 3_000

    /// A sentence that has been sent and is not done.
    private final class Order {
        let pieces: Edge<VoicePiece>
        var assembler = SampleAssembler()
        var samples = 0
        var done: CheckedContinuation<Void, any Error>?
        var deadline = ContinuousClock.now + .milliseconds(CartesiaSession.stallLimitMs)
        init(_ pieces: Edge<VoicePiece>) { self.pieces = pieces }
    }

    private struct Context {
        var id: String
        var turn: Int32
        var flushes = 0
        /// By flush id, while they are not done.
        var orders: [Int: Order] = [:]
        /// Samples of the sentences before, where word times count from the context's begin.
        var spoken = 0
    }

    private let configuration: CartesiaSpeech.Configuration
    private let network: SpeechNetwork
    private var channel: WebSocketChannel?
    private var reader: Task<Void, Never>?
    private var watchdog: Task<Void, Never>?
    private var context: Context?
    private var contexts = 0

    init(_ configuration: CartesiaSpeech.Configuration, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
    }

    func open() async throws {
        if let channel, channel.isOpen { return }
        close()
        var url = configuration.url
        url.path += "/tts/websocket"
        var headers = [("cartesia-version", configuration.version)]
        if let key = configuration.apiKey { headers.append(("authorization", "Bearer " + key)) }
        let opened = try await network.open(url, headers: headers, service: CartesiaSpeech.service)
        channel = opened
        reader = Task { await self.read(opened) }
        watchdog = Task { await self.watch() }
    }

    func close() {
        reader?.cancel()
        watchdog?.cancel()
        channel?.close()
        channel = nil
        fail(CancellationError())
    }

    // MARK: Asking

    func speak(_ sentence: Sentence, _ pieces: Edge<VoicePiece>) async throws {
        try await open()
        // A context whose sentences are all done may be closed by the service at any moment, so it is not used again.
        if context == nil || context?.turn != sentence.turn || context?.orders.isEmpty == true {
            contexts += 1
            context = Context(id: "turn-\(sentence.turn)-\(contexts)", turn: sentence.turn)
        }
        guard var current = context, let channel else { return }
        current.flushes += 1
        let flush = current.flushes
        let order = Order(pieces)
        current.orders[flush] = order
        context = current
        let id = current.id
        var message: [String: Any] = [
            "model_id": configuration.model, "transcript": sentence.text + " ",
            "voice": ["mode": "id", "id": configuration.voice],
            "language": LanguageTag.primary(sentence.language), "context_id": id, "continue": true, "flush": true,
            "add_timestamps": true,
            "output_format": [
                "container": "raw", "encoding": "pcm_s16le", "sample_rate": Int(CartesiaSpeech.sampleRate),
            ],
        ]
        if let speed = configuration.speed {
            message["generation_config"] = ["speed": speed.clamped(to: CartesiaSpeech.speeds)]
        }
        channel.send(try Self.text(message))
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                order.done = continuation
            }
        } onCancel: {
            Task { await self.cancel(id) }
        }
    }

    /// The turn was dropped: this sentence and those after it are not needed.
    private func cancel(_ id: String) {
        guard context?.id == id else { return }
        if let text = try? Self.text(["context_id": id, "cancel": true]) { channel?.send(text) }
        fail(CancellationError())
    }

    private func fail(_ error: any Error) {
        let orders = context?.orders.values.map { $0 } ?? []
        context = nil
        for order in orders {
            order.done?.resume(throwing: error)
            order.done = nil
        }
    }

    private static func text(_ object: [String: Any]) throws -> String {
        String(
            decoding: try JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]), as: UTF8.self)
    }

    // MARK: Hearing

    private func read(_ channel: WebSocketChannel) async {
        do {
            while true {
                guard case .text(let bytes) = try await channel.next() else { continue }
                try await take(CartesiaMessage(parsing: bytes))
            }
        } catch is CancellationError {
        } catch let failure as WebSocketChannel.Failure {
            ended(SpeechError("\(CartesiaSpeech.service): \(failure.message)", .broken), of: channel)
        } catch { ended(error, of: channel) }
    }

    private func ended(_ error: any Error, of channel: WebSocketChannel) {
        channel.close()
        guard self.channel === channel else { return }
        self.channel = nil
        watchdog?.cancel()
        fail(error)
    }

    private func take(_ message: CartesiaMessage) async throws {
        if message.type == "error" {
            // Messages of a context that was given up are ignored.
            guard message.contextId == nil || message.contextId == context?.id else { return }
            let words = message.message ?? message.error ?? message.title ?? "no reason given"
            var error = SpeechError(CartesiaSpeech.service, status: message.statusCode ?? 500)
            error.message += ": \(words.prefix(300))"
            return fail(error)
        }
        guard let id = message.contextId, id == context?.id, let flush = message.flushId ?? context?.orders.keys.min(),
            let order = context?.orders[flush]
        else { return }
        order.deadline = .now + .milliseconds(Self.stallLimitMs)
        switch message.type {
        case "chunk":
            let samples = order.assembler.samples(try message.sound())
            order.samples += samples.count
            // Waits while the speaker is full, which slows the service down.
            try await order.pieces.send(.audio(samples))
        case "timestamps":
            guard message.wordTimestamps != nil else { return }
            try await order.pieces.send(
                .words(message.words(before: (context?.spoken ?? 0) * 1_000 / Int(CartesiaSpeech.sampleRate))))
        case "flush_done", "done":
            // A `done` ends all that is left of the context.
            for (number, order) in context?.orders ?? [:] where message.type == "done" || number == flush {
                context?.orders[number] = nil
                context?.spoken += order.samples
                if order.samples == 0 {
                    order.done?.resume(throwing: SpeechError("\(CartesiaSpeech.service) gave no sound", .broken))
                } else {
                    order.done?.resume()
                }
                order.done = nil
            }
        default: break
        }
    }

    private func watch() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(250))
            guard !Task.isCancelled, let first = context?.orders.min(by: { $0.key < $1.key })?.value,
                .now > first.deadline, let channel
            else {
                continue
            }
            // While the speaker is full nothing is read, so no message is overdue.
            if first.pieces.reading.depth >= SentenceStreams.pieceLimit { continue }
            ended(SpeechError("\(CartesiaSpeech.service) stopped in the middle of a sentence", .stalled), of: channel)
        }
    }
}

/// What the service says (docs.cartesia.ai/api-reference/tts/websocket, "Responses").
struct CartesiaMessage: Decodable {
    struct Words: Decodable {
        var words: [String]
        var start: [Double]
        var end: [Double]
    }
    var type: String
    var data: String?
    var contextId: String?
    var flushId: Int?
    var wordTimestamps: Words?
    var title: String?
    var message: String?
    var error: String?
    var statusCode: Int?

    private static let decoder = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }()

    /// - Throws: `SpeechError` for a malformed message.
    init(parsing bytes: [UInt8]) throws(SpeechError) {
        guard let message = try? Self.decoder.decode(Self.self, from: Data(bytes)) else {
            throw SpeechError("\(CartesiaSpeech.service) sent what cannot be understood", .broken)
        }
        self = message
    }

    /// PCM of 16 bits, however it is cut.
    func sound() throws(SpeechError) -> Data {
        guard let data, let sound = Data(base64Encoded: data) else {
            throw SpeechError("\(CartesiaSpeech.service) sent sound that is no base64", .broken)
        }
        return sound
    }

    /// Times in seconds, from the begin of the context or of the sentence: whichever the first word is nearer to.
    /// - Parameter before: milliseconds that the context has spoken before this sentence.
    func words(before: Int) -> [SpokenWord] {
        func milliseconds(_ seconds: Double) -> Int {
            Int(clampingDouble: (min(max(seconds, 0), 3_600) * 1_000).rounded())
        }
        guard let told = wordTimestamps, let first = told.start.first.map(milliseconds) else { return [] }
        let offset = abs(first - before) < first ? before : 0
        return (0..<min(told.words.count, told.start.count, told.end.count)).map {
            SpokenWord(
                told.words[$0], startMs: max(0, milliseconds(told.start[$0]) - offset),
                endMs: max(0, milliseconds(told.end[$0]) - offset))
        }
    }
}
