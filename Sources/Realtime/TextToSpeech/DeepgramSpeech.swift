internal import Foundation
public import Net
public import Pipeline

/// Deepgram's Aura over its `/v1/speak` WebSocket (developers.deepgram.com/reference/text-to-speech/speak-streaming):
/// bare PCM, no word times.
///
/// One connection speaks a call's sentences one after the other, each ended by `Flush` and `Flushed`. The sound of a
/// dropped sentence cannot be distinguished from what follows, so its connection is closed, and the next sentence uses
/// one that was opened meanwhile.
public struct DeepgramSpeech: TextToSpeech {
    public struct Configuration: Sendable, Equatable {
        public var url = WebSocketURL(host: "api.deepgram.com", port: 443, path: "", isSecure: true)
        public var apiKey: String?
        /// Voice and language, e.g. `aura-2-celeste-es`.
        public var model = "aura-2-thalia-en"
        public init() {}
    }

    /// Milliseconds until the first sound, and between two pieces of one sentence.
    private static let stallLimitMs = 3_000
    /// Characters of one `Speak`.
    private static let textLimit = 2_000
    private static let sampleRate: Int32 = 8_000
    private static let service = "text-to-speech/deepgram"

    private let configuration: Configuration
    private let network: SpeechNetwork

    public init(_ configuration: Configuration, network: SpeechNetwork) {
        self.configuration = configuration
        self.network = network
    }

    /// A model speaks the one language that ends its name.
    public func speaks(language: String) -> Bool {
        guard configuration.model.hasPrefix("aura"), let own = configuration.model.split(separator: "-").last,
            own.count == 2
        else { return true }
        return language.lowercased().split(separator: "-").first.map { $0 == own } ?? false
    }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        let spare = SpareConnection { try await Self.connect(configuration, network) }
        await spare.prepare()
        do {
            try await SentenceStreams(sampleRate: Self.sampleRate, ahead: 0) { sentence, pieces in
                let channel = try await spare.take()
                do { try await Self.speak(sentence, over: channel, pieces) } catch {
                    channel.close()
                    await spare.prepare()
                    throw error
                }
                await spare.giveBack(channel)
            }.run(from: input, to: output)
        } catch {
            await spare.close()
            throw error
        }
        await spare.close()
    }

    static func connect(_ configuration: Configuration, _ network: SpeechNetwork) async throws -> WebSocketChannel {
        var url = configuration.url
        url.path +=
            "/v1/speak?"
            + HTTPForm.encode([
                ("model", configuration.model), ("encoding", "linear16"), ("sample_rate", "\(sampleRate)"),
            ])
        return try await network.open(
            url, headers: configuration.apiKey.map { [("authorization", "Token " + $0)] } ?? [], service: service)
    }

    private struct Message: Decodable {
        var type: String
        var description: String?
        var errMsg: String?
    }

    private static func speak(_ sentence: Sentence, over channel: WebSocketChannel, _ pieces: Edge<VoicePiece>)
        async throws
    {
        var rest = sentence.text[...]
        while !rest.isEmpty {
            try send(["type": "Speak", "text": String(rest.prefix(textLimit))], over: channel)
            rest = rest.dropFirst(textLimit)
        }
        try send(["type": "Flush"], over: channel)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        var assembler = SampleAssembler()
        var count = 0
        var warning = ""
        while true {
            let received: WebSocketChannel.Message?
            do {
                received = try await Deadline.wait(milliseconds: stallLimitMs, { try await channel.next() })
            } catch let failure
                as WebSocketChannel.Failure
            {
                throw SpeechError("\(service): \(failure.message)", failure.closeCode == 1_008 ? .invalid : .broken)
            }
            switch received {
            case nil: throw SpeechError("\(service) stopped in the middle of a sentence\(warning)", .stalled)
            case .binary(let bytes):
                let samples = assembler.samples(bytes)
                count += samples.count
                try await pieces.send(.audio(samples))
            case .text(let bytes):
                guard let message = try? decoder.decode(Message.self, from: Data(bytes)) else {
                    throw SpeechError("\(service) sent what cannot be understood", .broken)
                }
                switch message.type {
                case "Flushed":
                    guard count > 0 else { throw SpeechError("\(service) gave no sound\(warning)", .broken) }
                    return
                case "Warning": warning = ": \((message.description ?? "").prefix(300))"
                case "Error":
                    throw SpeechError(
                        "\(service): \((message.errMsg ?? message.description ?? "").prefix(300))", .invalid)
                default: break
                }
            }
        }
    }

    private static func send(_ object: [String: String], over channel: WebSocketChannel) throws {
        channel.send(
            String(decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]), as: UTF8.self))
    }
}
