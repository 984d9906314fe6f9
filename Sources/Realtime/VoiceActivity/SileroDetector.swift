internal import CSilero
public import Pipeline

/// Silero VAD over a call's frames: finds speech in noise in which an energy detector finds none. A result holds for
/// the last complete window of 32 ms.
///
/// The model costs two hundred times what the built-in detector does, so it is asked where it may matter: not
/// about a window that is as quiet as its line, and less often about speech that goes on as loud as it was.
///
/// It still hears speech for a while when a word is over: a frame that is much quieter than the speech before it is no
/// part of that.
public final class SileroDetector: TrainedDetector {
    private static let window = Int(CSILERO_WINDOW)
    /// A frame below this has no speech that could be understood, dB below full scale.
    private static let silentLevel: Float = -60
    /// On a quiet line nothing stands out that is less than this over the noise floor, dB: noise varies by 3.
    private static let rise: Float = 4
    /// Speech on a quiet line is judged once in so many windows, 96 ms…
    private static let windowsInSpeech = 3
    /// …while it is as loud as it was of late but for this, dB. What is quieter may be what comes after a word.
    private static let steadiness: Float = 8
    /// Silent windows after which what was heard before no longer matters: 256 ms.
    private static let forgottenAfter = 8
    /// A frame that is quieter than speech of late by more than this is no speech, dB…
    private static let reach: Float = 25
    /// …and the loudness of late fades by this in each frame, dB: 10 a second.
    private static let fading: Float = 0.2
    /// Speech goes on down to a probability that is lower by this, as Silero's authors advise.
    private static let slack: Float = 0.15

    private let model: SileroModel
    private let call: OpaquePointer
    private let threshold: Float
    private var samples: [Float] = []
    /// A frame in `samples` stands out of the line.
    private var isLoud = false
    private var silentWindows = 0
    private var unjudgedWindows = 0
    private var verdict = false
    /// The loudest speech of late, dB below full scale.
    private var loudest: Float = -96

    init(_ model: SileroModel, threshold: Float) throws(SpeechError) {
        guard let call = csilero_begin(model.pointer) else { throw SpeechError("out of memory", .unavailable) }
        self.model = model
        self.call = call
        self.threshold = threshold
        samples.reserveCapacity(Self.window + EncodedFrame.byteCount)
        let silence = [Float](repeating: 0, count: Self.window)
        guard csilero_hear(call, silence) >= 0 else {
            csilero_end(call)
            throw SpeechError("silero_vad.onnx is no model of Silero VAD: run `make speech-pack`", .unavailable)
        }
        csilero_reset(call)
    }

    deinit { csilero_end(call) }

    public func isSpeech(_ frame: EncodedFrame, _ builtIn: VoiceActivity) -> Bool {
        let table = G711.decodeTable(of: frame.law)
        frame.withBytes { for byte in $0 { samples.append(Float(table[Int(byte)]) / 32_768) } }
        let quietest = builtIn.isQuietLine ? builtIn.noiseFloor + Self.rise : Self.silentLevel
        let standsOut = builtIn.level > max(quietest, Self.silentLevel)
        if standsOut { isLoud = true }
        if samples.count >= Self.window {
            judge(isSteady: builtIn.isQuietLine && builtIn.level > loudest - Self.steadiness)
            // What is left of this frame belongs to the next window.
            isLoud = !samples.isEmpty && standsOut
        }
        loudest -= Self.fading
        guard verdict, builtIn.level > loudest - Self.reach else { return false }
        loudest = max(loudest, builtIn.level)
        return true
    }

    /// The next window.
    /// - Parameter isSteady: if it was speech before this window, it probably goes on.
    private func judge(isSteady: Bool) {
        defer { samples.removeFirst(Self.window) }
        guard isLoud else {
            silentWindows += 1
            csilero_skip(call, samples)
            if silentWindows == Self.forgottenAfter { csilero_reset(call) }
            verdict = false
            return
        }
        silentWindows = 0
        unjudgedWindows += 1
        if verdict, isSteady, unjudgedWindows < Self.windowsInSpeech { return csilero_skip(call, samples) }
        unjudgedWindows = 0
        verdict = csilero_hear(call, samples) >= (verdict ? threshold - Self.slack : threshold)
    }
}
