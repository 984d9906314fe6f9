import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct VoiceActivityDetectorTests {
    @Test func speechIsToldFromSilenceAndHum() throws {
        let speech = Signals.encoded(Signals.tone(hertz: 300, amplitude: 6_000, ms: 200, rate: 8_000))
        let silence = [EncodedFrame](repeating: EncodedFrame(), count: 10)
        let hum = Signals.encoded(Signals.tone(hertz: 50, amplitude: 60, ms: 200, rate: 8_000))
        #expect(try StageHarness.run(VoiceActivityDetector(), silence).allSatisfy { !$0.isSpeech && $0.level == -96 })
        #expect(try StageHarness.run(VoiceActivityDetector(), hum).allSatisfy { !$0.isSpeech })
        #expect(
            try StageHarness.run(VoiceActivityDetector(), silence + speech).suffix(10).allSatisfy {
                $0.isSpeech && abs($0.level - -17.8) < 1
            })
    }

    @Test func steadyNoiseBecomesTheFloor() throws {
        let noise = Signals.encoded(Signals.noise(amplitude: 400, ms: 12_000, rate: 8_000))
        let verdicts = try StageHarness.run(VoiceActivityDetector(), noise)
        #expect(verdicts.suffix(50).count { $0.isSpeech } == 0)
    }
}
