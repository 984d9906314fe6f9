internal import Foundation
public import Settings

/// Engines on this machine: models, threads and the detector of voice activity.
public struct LocalSpeechSettings: Sendable {
    public enum Detector: String, Sendable, CaseIterable { case auto, silero, embedded }

    public var detector = Detector.auto
    public var packFolder = SpeechPack.defaultFolder
    public var modelFolder = AcousticModel.defaultFolder
    public var workers = max(1, ProcessInfo.processInfo.activeProcessorCount)
    public var decoders = 2 * max(1, ProcessInfo.processInfo.activeProcessorCount)
    public init() {}

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "agent.vad.provider", \.detector, .choice,
            "what tells speech from noise; auto: silero where speech.pack_dir has it")
        Setting(
            "speech.pack_dir", \.packFolder, .text,
            "what `make speech-pack` fetches: models that understand English and tell speech from noise")
        Setting("speech.model_dir", \.modelFolder, .text, "pocketsphinx's model")
        Setting(
            "speech.workers", \.workers, .whole(1...256), "threads for recognition and synthesis", unset: "one a core")
        Setting("speech.decoders", \.decoders, .whole(1...1_024), "recognisers, 16 MB each", unset: "two a core")
    }

    /// The embedded recogniser, warm: Moonshine where the speech pack has it, else pocketsphinx.
    /// - Parameter report: told which of them it is, and why.
    /// - Throws: `SpeechError` that says what is missing.
    public func recognizer(_ workers: WorkerPool, report: (String) -> Void = { _ in }) async throws
        -> any SpeechToText
    {
        do {
            let recognizer = MoonshineRecognizer(model: try MoonshineModel(pack: packFolder), workers: workers)
            try await recognizer.warmUp()
            report("speech recognition: Moonshine")
            return recognizer
        } catch { report("speech recognition: pocketsphinx, which understands fewer voices: \(error)") }
        let pool = DecoderPool(model: try AcousticModel(folder: modelFolder), workers: workers, limit: decoders)
        try await pool.warmUp()
        return EmbeddedRecognizer(pool: pool)
    }

    /// Silero's detector is wanted, or may be there.
    public var wantsTrainedDetector: Bool {
        detector == .silero || detector == .auto && FileManager.default.fileExists(atPath: packFolder)
    }
}
