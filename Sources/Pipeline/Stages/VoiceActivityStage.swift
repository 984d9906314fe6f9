/// A detector that was trained: it decides in the place of the built-in one. Belongs to one call.
public protocol TrainedDetector: AnyObject {
    /// - Parameter builtIn: what the built-in detector says of the frame.
    func isSpeech(_ frame: EncodedFrame, _ builtIn: VoiceActivity) -> Bool
}

/// Speech or not: by the built-in detector, or by a trained one.
///
/// A trained detector takes a tenth of a second to be sure, for which we would talk over the caller. So what the
/// built-in one finds on a quiet line is in doubt until then.
public final class VoiceActivityStage: CallerStage {
    public let name = "voice-activity"
    private var detector: VoiceActivityDetector
    private let trained: (any TrainedDetector)?
    private var trial = SoundTrial()

    public init(_ configuration: VoiceActivityDetector.Configuration, trained: (any TrainedDetector)? = nil) {
        detector = VoiceActivityDetector(configuration)
        self.trained = trained
    }

    public func process(_ heard: inout HeardFrame) {
        let builtIn = detector.detect(heard.frame)
        heard.activity = builtIn
        guard let trained else { return }
        heard.activity.isSpeech = trained.isSpeech(heard.frame, builtIn) && !heard.frame.isConcealed
        heard.activity.isInDoubt = trial.isInDoubt(builtIn, isSpeech: heard.activity.isSpeech)
    }
}

/// Which sounds are in doubt: those that begin in silence on a quiet line, until a trained detector has had time to
/// find speech in them. Counts frames, reads no clock.
struct SoundTrial {
    /// Silero finds speech within 200 ms of a sound's beginning for 99 of 100 sentences, and within 280 ms for all.
    private static let frames = 300 / EncodedFrame.milliseconds
    /// Silence before a sound that is no more of the last word, its echo or its breath.
    private static let silenceBefore = 200 / EncodedFrame.milliseconds
    /// Silence before the next sound that is in doubt when one was no speech: keys and dishes rattle more than once.
    private static let silenceAfterNoise = 3_000 / EncodedFrame.milliseconds

    private var framesLeft = 0
    private var silentFrames = 0
    private var neededSilence = SoundTrial.silenceBefore

    /// - Parameter isSpeech: what the trained detector says.
    mutating func isInDoubt(_ builtIn: VoiceActivity, isSpeech: Bool) -> Bool {
        if isSpeech {
            framesLeft = 0
            silentFrames = 0
            neededSilence = Self.silenceBefore
            return false
        }
        if framesLeft == 0 {
            guard builtIn.isSpeech else {
                silentFrames += 1
                return false
            }
            defer { silentFrames = 0 }
            guard builtIn.isQuietLine, silentFrames >= neededSilence else { return false }
            framesLeft = Self.frames
        }
        framesLeft -= 1
        if framesLeft == 0 { neededSilence = Self.silenceAfterNoise }
        return builtIn.isSpeech
    }
}
