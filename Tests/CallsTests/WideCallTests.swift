import Foundation
import Net
import Pipeline
import Realtime
import Store
import TestSupport
import Testing

@testable import Calls

/// Calls over streams wider than 8 kHz: what recogniser, speech model and recording get of the upper band.
@Suite(.serialized) struct WideCallTests {
    private static func samples(_ frames: [AudioFrame]) -> [Int16] { frames.flatMap { $0.withSamples { Array($0) } } }

    private static func amplitude(_ hertz: Double, _ samples: [Int16], _ rate: Int32) -> Double {
        Signals.amplitude(hertz: hertz, in: samples, rate: rate)
    }

    // MARK: Engines

    @Test(arguments: [8_000, 16_000, 24_000] as [Int32]) func aRecognizerHearsTheBandOfTheStream(rate: Int32) throws {
        let script = ScriptedCascade(sampleRate: 16_000)
        script.say("Hello.")
        script.hear("Yes.")
        let call = try PCMCall(.cascade(script.engines), rate: rate)
        call.playTurn()
        let frames = script.recognizedSound
        #expect(frames.allSatisfy { $0.sampleRate == 16_000 })
        let samples = Self.samples(frames)
        // 300 ms before the detected start, the turn, and 200 ms of silence.
        #expect((1_350...1_600).contains(samples.count / 16), "\(samples.count / 16) ms")
        #expect(Self.amplitude(1_000, samples, 16_000) > 3_500)
        let high = Self.amplitude(6_000, samples, 16_000)
        #expect(rate > 8_000 ? high > 3_500 : high < 20, "\(high)")
        #expect(script.conversations.count == 2, "the turn has ended")
    }

    @Test func aNarrowRecognizerHearsTheFrames() throws {
        let script = ScriptedCascade()
        script.say("Hello.")
        let call = try PCMCall(.cascade(script.engines), rate: 16_000)
        call.playTurn()
        let frames = script.recognizedSound
        #expect(!frames.isEmpty && frames.allSatisfy { $0.sampleRate == 8_000 && $0.count == 160 })
    }

    /// Sound reaches the recogniser when it does in a call of 8 kHz. A stream of 16 kHz gives a frame one message
    /// later: the frame itself has to be resampled.
    @Test func theRecognizerGetsWideSoundAtTheSameTimes() throws {
        func progress(_ rate: Int32) throws -> [Int] {
            let script = ScriptedCascade(sampleRate: 16_000)
            script.say("Hello.")
            let call = try PCMCall(.cascade(script.engines), rate: rate)
            var progress: [Int] = []
            call.playTurn { progress.append(script.recognizedSound.reduce(0) { $0 + $1.count } / 16) }
            return progress
        }
        let narrow = try progress(8_000), wide = try progress(16_000)
        #expect(narrow.count == wide.count)
        // Once a turn has begun its prefix comes at once: one message later with the wide stream.
        for (index, ms) in wide.enumerated().dropFirst() where narrow[index - 1] > 0 && ms > 0 {
            #expect(narrow[index - 1] - 20...narrow[index] + 35 ~= ms, "\(index): \(ms), \(narrow[index]) ms")
        }
        #expect(wide.firstIndex { $0 > 0 }! - narrow.firstIndex { $0 > 0 }! <= 1)
    }

    @Test(arguments: [8_000, 16_000, 24_000] as [Int32]) func aSpeechModelHearsTheBandOfTheStream(rate: Int32) throws {
        let model = ScriptedModel(format: .pcm(input: 24_000, output: 24_000))
        let call = try PCMCall(.realtime(model), rate: rate)
        call.playTurn()
        let heard = try #require(model.session).heard
        let samples = heard.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        #expect((3_840...4_000).contains(samples.count / 24), "all that came: \(samples.count / 24) ms")
        let high = Self.amplitude(6_000, samples, 24_000)
        #expect(rate > 8_000 ? high > 1_400 : high < 20, "\(high)")
    }

    /// What waits while there is no session keeps its wide sound.
    @Test func aSessionThatOpensLateHearsTheWholeBand() throws {
        let model = ScriptedModel(format: .pcm(input: 24_000, output: 24_000))
        model.isReadyAtOnce = false
        let call = try PCMCall(.realtime(model), rate: 16_000)
        call.play(ms: 400, hertz: [1_000, 6_000])
        let session = try #require(model.session)
        #expect(session.heard.isEmpty)
        call.loop.run { session.tell(.ready) }
        call.loop.advance(ms: 40)
        let samples = session.heard.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        #expect((340...400).contains(samples.count / 24))
        #expect(Self.amplitude(6_000, samples, 24_000) > 5_000)
    }

    @Test func aModelOfMuLawHearsTheFrames() throws {
        let model = ScriptedModel()
        let call = try PCMCall(.realtime(model), rate: 16_000)
        call.playTurn()
        #expect((3_840...4_000).contains(try #require(model.session).heardBytes / 8))
    }

    // MARK: The feed

    private static func heard(_ frame: EncodedFrame, _ sound: AudioFrame?, isSpeech: Bool, isInTurn: Bool) -> HeardFrame
    {
        var heard = HeardFrame(), wide = WideSound()
        if let sound { wide.set(sound) }
        heard.begin(frame, wide: &wide)
        heard.activity.isSpeech = isSpeech
        heard.isInTurn = isInTurn
        return heard
    }

    /// Prefix, speech, held silence and speech again: the same sound at the same times, but for a resampler's delay.
    @Test func theFeedKeepsOrderAndTiming() async throws {
        // A click in each part.
        var signal = [Int16](repeating: 0, count: 16_000 * 2)
        let clicks = [260, 500, 900, 1_400, 1_700]
        for ms in clicks { for index in 0..<8 { signal[ms * 16 + index] = 20_000 } }
        var framer = try CallerFramer(sampleRate: 16_000)
        var frames: [EncodedFrame] = [], wide: [AudioFrame] = []
        for start in stride(from: 0, to: signal.count, by: 320) {
            var piece = AudioFrame(sampleRate: 16_000)
            signal[start..<start + 320].withUnsafeBufferPointer { _ = piece.append($0) }
            try framer.process(piece, into: &frames, wide: &wide)
        }
        func run(isWide: Bool) async -> (sound: [Int16], progress: [Int]) {
            let edge = Edge<RecognizerInput>(CallLayout.heard)
            var feed = RecognizerFeed(to: edge, sampleRate: 16_000, prefixMs: 200)
            var sound: [Int16] = [], progress: [Int] = []
            for index in frames.indices {
                let heard = Self.heard(
                    frames[index], isWide ? wide[index] : nil, isSpeech: index < 35 || index > 68,
                    isInTurn: index >= 20)
                feed.hear(heard)
                var batch: [RecognizerInput] = []
                edge.drain(into: &batch)
                for case .audio(let piece) in batch { sound += Self.samples([piece]) }
                progress.append(sound.count)
            }
            return (sound, progress)
        }
        let narrow = await run(isWide: false), wideRun = await run(isWide: true)
        let late = zip(wideRun.progress, narrow.progress).map { $0 - $1 }
        #expect(late.allSatisfy { (0...240).contains($0) }, "never later, at most 15 ms earlier: \(late)")
        #expect(wideRun.progress.last == (frames.count - 10) * 320, "200 ms of prefix, and all that follows")
        for ms in clicks {
            let place = (ms - 200) * 16
            func found(_ sound: [Int16]) -> Int? {
                (place - 40..<place + 100).max { abs(Int(sound[$0])) < abs(Int(sound[$1])) }
            }
            let first = try #require(found(narrow.sound)), second = try #require(found(wideRun.sound))
            // Each resampler is 30 samples late.
            #expect(abs(first - second - 30) <= 8 && abs(second - place - 30) <= 12, "\(ms): \(first), \(second)")
        }
    }

    @Test func prefixAndHeldSilenceKeepTheBand() throws {
        let edge = Edge<RecognizerInput>(CallLayout.heard)
        var feed = RecognizerFeed(to: edge, sampleRate: 24_000, prefixMs: 300)
        // 300 ms before the turn, 200 ms of speech, a second of silence of which 800 ms are held, and speech again.
        for (index, sound) in Signals.tone(hertz: 6_000, amplitude: 8_000, ms: 1_600, rate: 16_000).enumerated() {
            feed.hear(
                Self.heard(EncodedFrame(), sound, isSpeech: index < 25 || index >= 75, isInTurn: index >= 15))
        }
        var batch: [RecognizerInput] = []
        edge.drain(into: &batch)
        var sound: [Int16] = []
        for case .audio(let piece) in batch { sound += Self.samples([piece]) }
        #expect((1_585...1_600).contains(sound.count / 24))
        for start in stride(from: 100, to: 1_500, by: 100) {
            let part = Array(sound[start * 24..<(start + 80) * 24])
            #expect(Self.amplitude(6_000, part, 24_000) > 7_500, "at \(start) ms")
        }
    }

    /// So that a recogniser may begin before the turn is known to be over.
    @Test func aSilenceIsToldOnceAllOfItsSoundHasCome() {
        let edge = Edge<RecognizerInput>(CallLayout.heard)
        var feed = RecognizerFeed(to: edge, sampleRate: 8_000, prefixMs: 0)
        func items(_ frames: Int, isSpeech: Bool) -> String {
            for _ in 0..<frames { feed.hear(Self.heard(EncodedFrame(), nil, isSpeech: isSpeech, isInTurn: true)) }
            return drained()
        }
        func drained() -> String {
            var batch: [RecognizerInput] = []
            edge.drain(into: &batch)
            return batch.map {
                switch $0 {
                case .audio: "a"
                case .paused: "P"
                case .turnEnded: "E"
                case .expect: "?"
                }
            }.joined()
        }
        #expect(items(2, isSpeech: true) == "aa")
        #expect(items(9, isSpeech: false) == "aaaaaaaaa", "a short silence is part of the speech")
        #expect(items(5, isSpeech: false) == "aP")
        #expect(items(1, isSpeech: true) == "aaaaa", "it went on: what was held comes first")
        #expect(items(20, isSpeech: false) == "aaaaaaaaaaP")
        feed.endTurn()
        #expect(drained() == "E")
    }

    /// A stage that leaves the wide sound out is not bypassed.
    @Test func theFeedHearsWhatTheStagesLeave() throws {
        let edge = Edge<RecognizerInput>(CallLayout.heard)
        var feed = RecognizerFeed(to: edge, sampleRate: 16_000, prefixMs: 0)
        let tone = Signals.tone(hertz: 6_000, amplitude: 8_000, ms: 200, rate: 16_000)
        for sound in tone {
            var heard = Self.heard(EncodedFrame(), sound, isSpeech: true, isInTurn: true)
            heard.change(to: heard.frame, wide: nil)
            feed.hear(heard)
        }
        var batch: [RecognizerInput] = []
        edge.drain(into: &batch)
        #expect(!batch.isEmpty)
        for case .audio(let piece) in batch { #expect(Self.samples([piece]).allSatisfy { abs($0) < 20 }) }
        #expect(feed.takeHeardMs() == 200)
    }
}
