internal import CSherpa
internal import Foundation
public import Pipeline

/// Streaming recognition on this machine by sherpa-onnx: transducers (zipformer) that the operator puts into
/// `speech-pack/stt/LANGUAGE/` (`docs/local-models.md`).
public struct SherpaRecognizer: SpeechToText {
    private static let files = ["encoder.onnx", "decoder.onnx", "joiner.onnx", "tokens.txt"]
    /// Milliseconds of silence added after a turn, as a transducer reports its last word late.
    private static let paddingMs = 500
    /// Samples handed over at once: 100 ms.
    private static let batchSamples = 1_600
    /// Bytes of one turn's text.
    private static let textLimit = 16_384

    /// The model is shared by all calls, and thread-safe; a stream is not, and only one worker uses it at a time.
    private struct Model: @unchecked Sendable { let pointer: OpaquePointer }
    private struct Stream: @unchecked Sendable { let pointer: OpaquePointer }

    private let models: [String: Model]
    private let language: String
    private let workers: WorkerPool

    /// Loads every language that is there.
    /// - Throws: `SpeechError` that names the file that is missing or cannot be read.
    public init(pack: SpeechPack, workers: WorkerPool) throws(SpeechError) {
        var models: [String: Model] = [:]
        for (language, folder) in try pack.languages(of: "stt", files: Self.files) {
            let paths = Self.files.map { folder + "/" + $0 }
            guard
                let pointer = csherpa_recognizer_create(pack.library.pointer, paths[0], paths[1], paths[2], paths[3], 1)
            else {
                throw SpeechError(
                    "sherpa-onnx cannot read the recogniser in \(folder): is it a streaming transducer?", .unavailable)
            }
            models[language] = Model(pointer: pointer)
        }
        self.init(models, language: "", workers: workers)
    }

    private init(_ models: [String: Model], language: String, workers: WorkerPool) {
        self.models = models
        self.workers = workers
        self.language = LanguageTag.primary(language)
    }

    /// The recogniser of a call in this language.
    func speaking(_ language: String) -> SherpaRecognizer {
        SherpaRecognizer(models, language: language, workers: workers)
    }

    public var sampleRate: Int32 { 16_000 }
    public func recognizes(language: String) -> Bool { models[LanguageTag.primary(language)] != nil }

    public func run(from input: Edge<RecognizerInput>, to output: Edge<TranscriptEvent>) async throws {
        guard let model = models[language], let pointer = csherpa_stream_create(model.pointer) else {
            throw SpeechError("speech-to-text/sherpa has no model for \(language)", .unavailable)
        }
        let stream = Stream(pointer: pointer)
        defer { csherpa_stream_destroy(stream.pointer) }
        var samples: [Float] = []
        var told = ""
        while let signal = await input.next() {
            guard case .data(let item) = signal else {
                if case .flush = signal { continue }
                return
            }
            switch item {
            case .expect, .paused: break
            case .audio(let frame):
                frame.withSamples { samples += $0.map { Float($0) / 32_768 } }
                guard samples.count >= Self.batchSamples else { continue }
                let text = try await hear(samples, stream)
                samples.removeAll(keepingCapacity: true)
                if text != told, !text.isEmpty { try await output.send(.interim(text)) }
                told = text
            case .turnEnded:
                samples += [Float](repeating: 0, count: Self.paddingMs * Int(sampleRate) / 1_000)
                let text = try await hear(samples, stream)
                samples.removeAll(keepingCapacity: true)
                told = ""
                try await workers.run { csherpa_stream_reset(stream.pointer) }
                try await output.send(.final(text: text, confidence: nil))
            }
        }
    }

    private func hear(_ samples: [Float], _ stream: Stream) async throws -> String {
        try await workers.run {
            var text = [CChar](repeating: 0, count: Self.textLimit)
            csherpa_stream_accept(stream.pointer, samples, Int32(samples.count), &text, text.count)
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                .trimmingCharacters(in: .whitespaces)
        }
    }
}
