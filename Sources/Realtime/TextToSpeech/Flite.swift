internal import CFlite
internal import Synchronization

/// A voice of flite, English. Synthesis runs several hundred times faster than speech.
public enum FliteVoice: String, Sendable, CaseIterable {
    case kal16
    case rms

    /// A fifth slower than flite would have it, kal16 is understood better (BENCHMARKS.md).
    private static let stretch: Float = 1.2

    /// `cst_voice` is only read during synthesis, so one instance serves all threads.
    private struct Loaded: @unchecked Sendable { var voice: UnsafeMutablePointer<cst_voice>? }
    private static let voices: Mutex<[String: Loaded]> = {
        flite_init()
        return Mutex([:])
    }()

    private var voice: UnsafeMutablePointer<cst_voice>? {
        Self.voices.withLock { loaded in
            if let known = loaded[rawValue] { return known.voice }
            let made: UnsafeMutablePointer<cst_voice>? =
                switch self {
                case .kal16: Self.agent(register_cmu_us_kal16(nil))
                case .rms: register_cmu_us_rms(nil)
                }
            loaded[rawValue] = Loaded(voice: made)
            return made
        }
    }

    /// At a pleasant rate, and with a pitch that rises at the end of a question that wants a yes or a no.
    private static func agent(_ voice: UnsafeMutablePointer<cst_voice>?) -> UnsafeMutablePointer<cst_voice>? {
        guard let voice else { return nil }
        feat_set_float(voice.pointee.features, "duration_stretch", stretch)
        cflite_raise_questions(voice)
        return voice
    }

    /// 16-bit PCM of a sentence and its rate. Blocks for a few milliseconds: run it on a worker.
    /// - Parameter speed: 1 is the voice's own pace.
    public func synthesize(_ text: String, speed: Double = 1) throws(SpeechError) -> (
        samples: [Int16], sampleRate: Int32
    ) {
        guard let voice else { throw SpeechError("the flite voice \(rawValue) cannot be loaded") }
        guard let wave = cflite_speak(text, voice, Float(speed)) else {
            throw SpeechError("flite could not speak the sentence")
        }
        defer { delete_wave(wave) }
        let count = Int(wave.pointee.num_samples)
        guard count >= 0, let samples = wave.pointee.samples else { return ([], wave.pointee.sample_rate) }
        return (Array(UnsafeBufferPointer(start: samples, count: count)), wave.pointee.sample_rate)
    }
}
