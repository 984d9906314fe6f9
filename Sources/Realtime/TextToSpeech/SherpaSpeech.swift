internal import CSherpa
internal import Foundation
public import Pipeline

/// Speech on this machine by sherpa-onnx: VITS voices (Piper's among them) that the operator puts into
/// `speech-pack/tts/LANGUAGE/` (`docs/local-models.md`).
public struct SherpaSpeech: AdjustableSpeech {
    /// Of its `speed`.
    static let speeds = 0.5...2.0
    private static let files = ["model.onnx", "tokens.txt"]
    private static let sampleRate: Int32 = 16_000
    /// Characters of one sentence, and samples made of it.
    private static let textLimit = 1_000
    private static let sampleLimit = 48_000 * 120

    /// A voice is shared by all calls; the library speaks with it from any thread.
    private struct Voice: @unchecked Sendable { let pointer: OpaquePointer }

    private let voices: [String: Voice]
    private let workers: WorkerPool
    /// 1 is the voice's own pace.
    private var speed = 1.0

    /// Loads every language that is there.
    /// - Throws: `SpeechError` that names the file that is missing or cannot be read.
    public init(pack: SpeechPack, workers: WorkerPool) throws(SpeechError) {
        var voices: [String: Voice] = [:]
        for (language, folder) in try pack.languages(of: "tts", files: Self.files) {
            func optional(_ name: String) -> String? {
                FileManager.default.fileExists(atPath: folder + "/" + name) ? folder + "/" + name : nil
            }
            let made = csherpa_voice_create(
                pack.library.pointer, folder + "/model.onnx", folder + "/tokens.txt", optional("lexicon.txt"),
                optional("espeak-ng-data"), 1)
            guard let made else {
                throw SpeechError(
                    "sherpa-onnx cannot read the voice in \(folder): is it a VITS or Piper voice?", .unavailable)
            }
            voices[language] = Voice(pointer: made)
        }
        self.voices = voices
        self.workers = workers
    }

    /// A language has one voice.
    public func adjusted(voice: String?, speed: Double?) -> any TextToSpeech {
        var adjusted = self
        if let speed { adjusted.speed = speed.clamped(to: Self.speeds) }
        return adjusted
    }

    public func speaks(language: String) -> Bool { voices[LanguageTag.primary(language)] != nil }

    public func run(from input: Edge<Sentence>, to output: Edge<SynthesizedAudio>) async throws {
        try await SentenceStreams(sampleRate: Self.sampleRate) { sentence, pieces in
            guard let voice = voices[LanguageTag.primary(sentence.language)] else {
                throw SpeechError("text-to-speech/sherpa has no voice for \(sentence.language)", .unavailable)
            }
            try await pieces.send(.audio(try await workers.run { try Self.speak(sentence.text, voice, speed) }))
        }.run(from: input, to: output)
    }

    private static func speak(_ text: String, _ voice: Voice, _ speed: Double) throws -> [Int16] {
        var memory: UnsafeMutablePointer<Float>?
        var rate: Int32 = 0
        let count = csherpa_voice_speak(voice.pointer, String(text.prefix(textLimit)), Float(speed), &memory, &rate)
        defer { free(memory) }
        guard let memory, count > 0, rate > 0 else { throw SpeechError("text-to-speech/sherpa gave no sound", .broken) }
        let samples = UnsafeBufferPointer(start: memory, count: min(Int(count), sampleLimit)).map { sample in
            sample.isFinite ? Int16(min(max(sample * 32_767, -32_768), 32_767)) : 0
        }
        if rate == sampleRate { return samples }
        var resampler = try Resampler(from: rate, to: sampleRate)
        var frames: [AudioFrame] = []
        try resampler.process(samples: samples[...], sampleRate: rate, into: &frames)
        try resampler.finish(into: &frames)
        return frames.flatMap { frame in frame.withSamples { Array($0) } }
    }
}
