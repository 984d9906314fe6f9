import Testing

@testable import Realtime

/// How the built-in English voice asks.
struct FliteVoiceTests {
    /// Hertz, the median over the last 300 ms of speech, by autocorrelation.
    private func endPitch(_ text: String) throws -> Double {
        let speech = try FliteVoice.kal16.synthesize(text)
        let rate = Int(speech.sampleRate)
        let end = (speech.samples.lastIndex { abs(Int($0)) > 1_000 } ?? 0) + 1
        let sound = speech.samples[max(0, end - rate * 3 / 10)..<end].map { Double($0) }
        let window = rate / 25
        var pitches: [Double] = []
        for start in stride(from: 0, to: sound.count - 2 * window, by: rate / 100) {
            func likeness(_ lag: Int) -> Double {
                var product = 0.0, here = 0.0, there = 0.0
                for index in start..<start + window {
                    product += sound[index] * sound[index + lag]
                    here += sound[index] * sound[index]
                    there += sound[index + lag] * sound[index + lag]
                }
                return product / max(1, (here * there).squareRoot())
            }
            let lags = rate / 200...rate / 65
            guard let best = lags.max(by: { likeness($0) < likeness($1) }), likeness(best) > 0.7 else { continue }
            pitches.append(Double(rate) / Double(best))
        }
        return pitches.sorted()[pitches.count / 2]
    }

    @Test(arguments: ["Are you still there", "Will you attend the dinner on Friday", "Do you need a parking space"])
    func thePitchRisesAtTheEndOfAQuestionThatWantsAYesOrANo(text: String) throws {
        #expect(try endPitch(text + "?") > 1.1 * endPitch(text + "."))
    }

    @Test(arguments: ["Which day suits you", "How many guests will you bring", "Fish, meat or vegetables"])
    func itFallsAtTheEndOfOtherQuestions(text: String) throws {
        #expect(try endPitch(text + "?") < 1.1 * endPitch(text + "."))
    }

    @Test(arguments: ["?", " ? ", "", "what", "w?", "\u{e9}?"]) func oddTextsAreSpoken(text: String) throws {
        #expect(try FliteVoice.kal16.synthesize(text).sampleRate == 16_000)
    }
}
