import Foundation
import Pipeline
import Testing

@testable import Realtime

private let testPack = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../speech-pack").standardized.path

/// With the model that `make speech-pack` fetches.
@Suite(.enabled(if: FileManager.default.isReadableFile(atPath: testPack + "/silero_vad.onnx")))
struct SileroDetectorTests {
    private static let model = Result { try SileroModel(pack: testPack) }

    private static func frames(_ samples: [Int16], rate: Int32) throws -> [EncodedFrame] {
        var chain = try Resampler(from: rate, to: 8_000).then(Framer(sampleRate: 8_000)).then(MuLawEncoder())
        var frames: [EncodedFrame] = []
        try chain.process(samples: samples[...], sampleRate: rate, into: &frames)
        try chain.finish(into: &frames)
        return frames
    }

    /// What a detector says of these frames, and their levels.
    private func verdicts(_ frames: [EncodedFrame]) throws -> [(isSpeech: Bool, level: Float)] {
        let detector = try Self.model.get().detector(threshold: 0.5)
        var builtIn = VoiceActivityDetector()
        return frames.map { frame in
            let beside = builtIn.detect(frame)
            return (detector.isSpeech(frame, beside), beside.level)
        }
    }

    private static func noise(_ count: Int, amplitude: Float) -> [Int16] {
        var state: UInt64 = 42
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int16(Float(Int32(truncatingIfNeeded: state >> 32)) / Float(Int32.max) * amplitude)
        }
    }

    @Test func speechIsFoundAndItsEndIsNotLate() throws {
        let speech = try FliteVoice.rms.synthesize("Yes, I will be there on Friday.")
        let silence = [Int16](repeating: 0, count: Int(speech.sampleRate))
        let heard = try verdicts(Self.frames(silence + speech.samples + silence, rate: speech.sampleRate))
        let loud = heard.indices.filter { heard[$0].level > -45 }
        let first = try #require(loud.first), last = try #require(loud.last)
        #expect(heard[..<(first - 3)].allSatisfy { !$0.isSpeech })
        #expect(heard[(first + 4)...last].count { $0.isSpeech } > (last - first) * 3 / 4)
        #expect(heard[(last + 4)...].allSatisfy { !$0.isSpeech }, "80 ms after the last word, nothing is speech")
    }

    @Test func speechIsFoundInNoise() throws {
        let speech = try FliteVoice.rms.synthesize("Yes, I will be there on Friday.")
        let noise = Self.noise(speech.samples.count, amplitude: 600)
        let mixed = zip(speech.samples, noise).map { $0.addingReportingOverflow($1).partialValue }
        let heard = try verdicts(Self.frames(noise + mixed, rate: speech.sampleRate))
        #expect(heard[(heard.count / 2)...].count { $0.isSpeech } > heard.count / 4)
        #expect(heard[..<(heard.count / 2 - 3)].count { $0.isSpeech } < heard.count / 20)
    }

    /// The model is asked less often while speech goes on, but nothing is taken for the rest of it.
    @Test func noiseBehindSpeechIsNoSpeechForLong() throws {
        let speech = try FliteVoice.rms.synthesize("Yes, I will be there on Friday.")
        let silence = [Int16](repeating: 0, count: Int(speech.sampleRate))
        let noise = Self.noise(3 * Int(speech.sampleRate), amplitude: 400)
        let heard = try verdicts(Self.frames(silence + speech.samples + noise, rate: speech.sampleRate))
        let behind = heard.suffix(150)
        #expect(behind.count { $0.isSpeech } < 25, "half a second of the noise's three at most")
        #expect(behind.suffix(100).allSatisfy { !$0.isSpeech })
    }

    @Test func aHissingLineIsNoSpeech() throws {
        #expect(try verdicts(Self.frames(Self.noise(80_000, amplitude: 120), rate: 8_000)).allSatisfy { !$0.isSpeech })
    }

    @Test func aSilentLineIsNoSpeech() throws {
        #expect(try verdicts(Self.frames(Self.noise(80_000, amplitude: 8), rate: 8_000)).allSatisfy { !$0.isSpeech })
    }

    @Test func whatIsMissingOrDamagedIsNamed() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pack-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        #expect { _ = try SileroModel(pack: folder.path) } throws: { "\($0)".contains("there is no") }
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/libonnxruntime.so", withDestinationPath: testPack + "/libonnxruntime.so")
        try Data("no model".utf8).write(to: folder.appendingPathComponent("silero_vad.onnx"))
        #expect { _ = try SileroModel(pack: folder.path) } throws: { "\($0)".contains("cannot be loaded") }
    }
}
