import Pipeline
import TestSupport
import Testing

@Suite struct VoiceActivityStageTests {
    /// Says what it is told to.
    private final class Script: TrainedDetector {
        var verdict = false
        func isSpeech(_ frame: EncodedFrame, _ builtIn: VoiceActivity) -> Bool { verdict }
    }

    private static let tone = Signals.encoded(Signals.tone(hertz: 300, amplitude: 6_000, ms: 20, rate: 8_000))[0]

    /// What the stages after it found, frame by frame.
    ///
    /// - Parameter line: 100 ms each of silence ("."), noise ("n"), a sound ("x"), and one that the trained detector
    ///   takes for speech ("s").
    private func run(_ line: String, withTrained: Bool = true) -> (heard: [HeardFrame], interruptions: String) {
        let script = Script()
        let noise = Signals.encoded(Signals.noise(amplitude: 900, ms: 100, rate: 8_000))
        var chain = CallerChain([
            VoiceActivityStage(.init(), trained: withTrained ? script : nil), TurnStage(.init(silenceMs: 200)),
            BargeInStage(.init()),
        ])
        var call = CallMoment()
        call.isAISpeaking = true
        call.isInterruptible = true
        var frames: [HeardFrame] = []
        for letter in line {
            for index in 0..<5 {
                var heard = HeardFrame()
                script.verdict = letter == "s"
                heard.begin(letter == "." ? EncodedFrame() : letter == "n" ? noise[index] : Self.tone, in: call)
                chain.process(&heard)
                frames.append(heard)
            }
        }
        let interruptions = frames.enumerated().flatMap { index, heard in
            heard.interruptions.map { "\(index)\($0 == .pause ? "p" : $0 == .resume ? "r" : "i")" }
        }
        return (frames, interruptions.joined(separator: " "))
    }

    private static let silence = String(repeating: ".", count: 10)

    @Test func ourSpeechPausesAtOnceForASoundOnAQuietLine() {
        let (heard, interruptions) = run(Self.silence + "xsss..........")
        #expect(interruptions == "51p 64i", "the second frame, and 300 ms from the first")
        let began = heard.firstIndex { $0.turns.contains(.speechStarted) }
        #expect(began == 56, "the turn is the trained detector's")
        let ended = heard.firstIndex { $0.turns.contains { if case .speechEnded = $0 { true } else { false } } }
        #expect(ended == 79, "200 ms after it found the last speech")
    }

    @Test func itGoesOnWhereTheSoundWasNoSpeech() {
        let (heard, interruptions) = run(Self.silence + "x..........")
        #expect(interruptions == "51p 69r")
        #expect(heard.allSatisfy { $0.turns.isEmpty && !$0.isInTurn }, "a cough begins no turn")
    }

    @Test func aLongSoundThatIsNoSpeechIsNotWaitedFor() {
        let (heard, interruptions) = run(Self.silence + "xxxxxxxxxxxxxxxxxxxxx")
        #expect(interruptions == "51p 79r", "300 ms of trial, 300 ms until we go on")
        #expect(heard.allSatisfy { $0.turns.isEmpty })
    }

    @Test func whatMakesNoiseOnceIsNotHeededAgain() {
        let noise = Self.silence + String(repeating: "x........", count: 5)
        #expect(run(noise).interruptions == "51p 69r")
        let calm = noise + String(repeating: ".", count: 30)
        #expect(run(calm + "x........").interruptions == "51p 69r 426p 444r", "it is after 3 s of silence")
        #expect(run(noise + "sss.....x......").interruptions.hasPrefix("51p 69r 276p 289i 316p"), "or of speech")
    }

    @Test func soundsRightBehindSpeechAreNotInDoubt() {
        let (heard, _) = run(Self.silence + "sssx.......")
        #expect(heard.allSatisfy { !$0.activity.isInDoubt })
    }

    @Test func onANoisyLineOnlyTheTrainedDetectorDecides() {
        let noise = String(repeating: "n", count: 30)
        #expect(run(noise + "xxxxx" + noise).interruptions == "")
        #expect(run(noise + "sssss").interruptions == "151p 164i")
    }

    @Test func withoutATrainedDetectorTheBuiltInOneDecides() {
        let (heard, interruptions) = run(Self.silence + "xxxx.....", withTrained: false)
        #expect(interruptions == "51p 64i")
        #expect(heard.firstIndex { $0.turns.contains(.speechStarted) } == 51)
        #expect(heard.allSatisfy { !$0.activity.isInDoubt })
    }
}
