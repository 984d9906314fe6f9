import Foundation
import TestSupport
import Testing

@testable import Pipeline

/// The caller's wide sound beside the frames: with its frame, at an engine's rate, and while it waits.
@Suite struct WideSoundTests {
    private static func flat(_ frames: [AudioFrame]) -> [Int16] { frames.flatMap { $0.withSamples { Array($0) } } }

    /// PCM of one rate as frames and wide sound.
    private static func framed(_ sound: [AudioFrame], rate: Int32) throws -> (
        frames: [EncodedFrame], wide: [AudioFrame]
    ) {
        var framer = try CallerFramer(sampleRate: rate)
        var frames: [EncodedFrame] = [], wide: [AudioFrame] = []
        for piece in sound { try framer.process(piece, into: &frames, wide: &wide) }
        return (frames, wide)
    }

    private static func wide(_ sound: AudioFrame) -> WideSound {
        var wide = WideSound()
        wide.set(sound)
        return wide
    }

    @Test func theWideSoundIsOfOneFrameAlone() {
        var heard = HeardFrame(), next = WideSound()
        next.set(AudioFrame(sampleRate: 16_000))
        heard.begin(EncodedFrame(), wide: &next)
        #expect(heard.wide.sound?.sampleRate == 16_000 && next.isEmpty)
        heard.begin(EncodedFrame(), wide: &next)
        #expect(heard.wide.isEmpty)
        next.set(AudioFrame(sampleRate: 24_000))
        heard.begin(EncodedFrame(), wide: &next)
        heard.begin(EncodedFrame())
        #expect(heard.wide.isEmpty)
    }

    /// No stage is bypassed: it says what becomes of the wide sound.
    @Test func aStageThatChangesTheFrameChangesOrDropsTheWideSound() {
        final class Gate: CallerStage {
            let name = "gate"
            let keepsWide: Bool
            init(keepsWide: Bool) { self.keepsWide = keepsWide }
            func process(_ heard: inout HeardFrame) {
                let silence = heard.wide.sound.map { AudioFrame(sampleRate: $0.sampleRate) }
                heard.change(to: EncodedFrame(), wide: keepsWide ? silence : nil)
            }
        }
        let tone = Signals.tone(hertz: 6_000, amplitude: 8_000, ms: 20, rate: 16_000)[0]
        for keepsWide in [true, false] {
            var chain = CallerChain([Gate(keepsWide: keepsWide)])
            var heard = HeardFrame(), wide = Self.wide(tone)
            heard.begin(EncodedFrame(), wide: &wide)
            chain.process(&heard)
            #expect(heard.wide.isEmpty != keepsWide && heard.wide.sound?.samples[3] != tone.samples[3])
        }
    }

    @Test(arguments: [8_000, 16_000, 24_000] as [Int32], [8_000, 16_000, 24_000] as [Int32])
    func onlyAWideEngineHearsTheUpperBand(stream: Int32, engine: Int32) throws {
        let sound = zip(
            Signals.tone(hertz: 1_000, amplitude: 8_000, ms: 400, rate: stream),
            Signals.tone(hertz: stream > 8_000 ? 6_000 : 1_000, amplitude: 8_000, ms: 400, rate: stream)
        ).map { low, high in
            var both = low
            for index in 0..<low.count { both.samples[index] += high.samples[index] }
            return both
        }
        let (frames, wide) = try Self.framed(sound, rate: stream)
        #expect(wide.count == (stream > 8_000 ? frames.count : 0))
        var converter = RateConverter(to: engine)
        var output: [AudioFrame] = []
        for (index, frame) in frames.enumerated() {
            converter.process(
                frame, wide: index < wide.count ? Self.wide(wide[index]) : WideSound(), into: &output)
        }
        converter.finish(into: &output)
        #expect(output.allSatisfy { $0.sampleRate == engine })
        let samples = Self.flat(output)
        #expect(abs(samples.count - frames.count * Int(engine) / 50) <= 1)
        #expect(Signals.amplitude(hertz: 1_000, in: samples, rate: engine) > 7_000)
        guard engine > 8_000 else { return }
        let high = Signals.amplitude(hertz: 6_000, in: samples, rate: engine)
        #expect(stream > 8_000 ? high > 7_000 : high < 50, "\(high)")
    }

    /// Sound that turns wide, changes its rate and turns narrow again has no gap, and nothing of it comes twice.
    @Test func theRateMayChangeAtAnyFrame() throws {
        var converter = RateConverter(to: 16_000)
        var output: [AudioFrame] = []
        let rates: [Int32] = [8_000, 16_000, 24_000, 16_000, 8_000, 24_000, 8_000]
        for rate in rates {
            for sound in Signals.tone(hertz: 500, amplitude: 8_000, ms: 200, rate: rate) {
                let frame = rate == 8_000 ? Signals.encoded([sound])[0] : EncodedFrame()
                converter.process(frame, wide: rate == 8_000 ? WideSound() : Self.wide(sound), into: &output)
            }
        }
        converter.finish(into: &output)
        let samples = Self.flat(output)
        #expect(abs(samples.count - rates.count * 3_200) <= rates.count)
        #expect(Signals.amplitude(hertz: 500, in: samples, rate: 16_000) > 7_600)
    }

    @Test func whatWaitsKeepsItsOrderAndItsWideSound() {
        var queue = HeardQueue(keepsWide: true), frame = EncodedFrame(), wide = WideSound()
        for index in 0..<6 {
            let sound = index % 2 == 0 ? WideSound() : Self.wide(AudioFrame(sampleRate: 16_000, turn: Int32(index)))
            queue.append(EncodedFrame(timestampMs: UInt32(index)), wide: sound)
        }
        queue.removeFirst()
        queue.removeFirst()
        for index in 2..<6 {
            #expect(queue.popFirst(into: &frame, wide: &wide))
            #expect(frame.timestampMs == UInt32(index) && wide.sound?.turn == (index % 2 == 0 ? nil : Int32(index)))
        }
        #expect(!queue.popFirst(into: &frame, wide: &wide) && queue.count == 0)

        queue.append(EncodedFrame(), wide: Self.wide(AudioFrame(sampleRate: 16_000)))
        queue.removeAll()
        #expect(!queue.popFirst(into: &frame, wide: &wide))

        var narrow = HeardQueue(keepsWide: false)
        narrow.append(EncodedFrame(), wide: Self.wide(AudioFrame(sampleRate: 16_000)))
        #expect(narrow.popFirst(into: &frame, wide: &wide) && wide.isEmpty)
    }

    @Test func aHeaderSaysItsRate() {
        #expect(WaveFile.sampleRate(inHeader: WaveFile.header(sampleRate: 16_000, channels: 2, bytes: 8)) == 16_000)
        #expect(WaveFile.sampleRate(inHeader: [1, 2, 3]) == nil)
    }
}
