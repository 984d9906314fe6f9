import Foundation
import Pipeline
import Testing

@testable import Realtime

private let testPack = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../speech-pack").standardized.path

/// With the model that `make speech-pack` fetches; the test setup puts it into `speech-pack`.
@Suite(.enabled(if: MoonshineModel.isPresent(inPack: testPack)))
struct MoonshineRecognizerTests {
    private static let pack = testPack
    private static let workers = WorkerPool(name: "moonshine", threads: 1)
    private static let recognizer = Result { () throws -> MoonshineRecognizer in
        MoonshineRecognizer(model: try MoonshineModel(pack: pack), workers: workers)
    }

    private func hear(_ text: String, _ hints: AnswerHints, voice: FliteVoice = .rms) throws
        -> (text: String, isUncertain: Bool)
    {
        let silence = [Int16](repeating: 0, count: 4_800)
        return try hear(silence + voice.synthesize(text).samples + silence, hints)
    }

    private func hear(_ turn: [Int16], _ hints: AnswerHints?) throws -> (text: String, isUncertain: Bool) {
        guard case .final(let text, _, let isUncertain) = try Self.recognizer.get().recognize(turn, hints) else {
            return ("", false)
        }
        return (text, isUncertain)
    }

    @Test(arguments: [
        ("Five.", AnswerHints(kind: .number)), ("Twenty-five.", AnswerHints(kind: .number)),
        ("On Friday, please.", AnswerHints(kind: .date)), ("Not really.", AnswerHints(kind: .boolean)),
        ("The meat, please.", AnswerHints(kind: .choice, choices: ["fish", "meat"])),
    ])
    func aShortAnswerIsUnderstood(text: String, hints: AnswerHints) throws {
        let heard = try hear(text, hints)
        #expect(heard.text == text)
        #expect(!heard.isUncertain)
    }

    private static func frames(_ text: String) throws -> [AudioFrame] {
        let speech = try FliteVoice.rms.synthesize(text)
        let silence = [Int16](repeating: 0, count: 4_800)
        var framer = Framer(sampleRate: 16_000)
        var frames: [AudioFrame] = []
        try framer.process(samples: (silence + speech.samples + silence)[...], sampleRate: 16_000, into: &frames)
        return frames
    }

    /// What a call's recogniser says to this input.
    private func transcripts(_ items: [RecognizerInput]) async throws -> [String] {
        let input = Edge<RecognizerInput>("in", limit: items.count, whenFull: .dropOldest)
        let output = Edge<TranscriptEvent>("out", limit: 64, whenFull: .dropOldest)
        for item in items { input.offer(item) }
        input.finish()
        try await Self.recognizer.get().run(from: input, to: output)
        output.finish()
        var texts: [String] = []
        while case .data(let event)? = await output.next() {
            if case .final(let text, _, _) = event { texts.append(text) }
        }
        return texts
    }

    @Test func aPauseThatEndsTheTurnChangesNothing() async throws {
        let five = try Self.frames("Five.").map { RecognizerInput.audio($0) }
        let hints = RecognizerInput.expect(AnswerHints(kind: .number))
        #expect(try await transcripts([hints] + five + [.turnEnded]) == ["Five."])
        #expect(
            try await transcripts([hints] + five + [.paused, .turnEnded] + five + [.paused, .turnEnded])
                == ["Five.", "Five."])
    }

    @Test func whatFollowsAPauseIsHeardToo() async throws {
        let twenty = try Self.frames("Twenty").map { RecognizerInput.audio($0) }
        let five = try Self.frames("five.").map { RecognizerInput.audio($0) }
        let heard = try await transcripts(
            [.expect(AnswerHints(kind: .number))] + twenty.dropLast(12) + [.paused] + five.dropFirst(12)
                + [.paused, .turnEnded])
        #expect(heard.count == 1 && heard[0].lowercased().contains("five"))
    }

    @Test func anotherQuestionIsNotAnsweredByTheGuessOfTheLastOne() async throws {
        let yes = try Self.frames("Yes.").map { RecognizerInput.audio($0) }
        let heard = try await transcripts(
            [.expect(AnswerHints(kind: .number))] + yes
                + [.paused, .expect(AnswerHints(kind: .boolean)), .turnEnded])
        #expect(heard == ["Yes."])
    }

    @Test func whatFitsNoPhraseIsWrittenDown() throws {
        let heard = try hear("The train to London was late again.", AnswerHints(kind: .boolean))
        #expect(heard.text.lowercased().contains("train"))
        #expect(heard.isUncertain, "were it an answer, it would be asked back")
    }

    @Test func anOpenQuestionGetsTheCallersOwnWords() throws {
        #expect(
            try hear("I would like to order a pizza.", AnswerHints(kind: .text)).text.lowercased().contains("pizza"))
    }

    @Test func silenceIsNothing() throws {
        let heard = try hear([Int16](repeating: 0, count: 16_000), AnswerHints(kind: .boolean))
        #expect(EmbeddedPolicy.value(of: heard.text, question: Question(id: "q1", text: "", kind: .boolean)) == nil)
        #expect(try hear([], nil).text.isEmpty)
    }

    @Test func aDamagedModelIsRefusedWithItsName() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pack-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let models = folder.appendingPathComponent("moonshine/en")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/libonnxruntime.so", withDestinationPath: Self.pack + "/libonnxruntime.so")
        for file in MoonshineModel.files {
            try FileManager.default.copyItem(
                atPath: MoonshineModel.folder(inPack: Self.pack) + "/" + file, toPath: models.path + "/" + file)
        }
        try Data("no model".utf8).write(to: models.appendingPathComponent("encoder.onnx"))
        #expect { _ = try MoonshineModel(pack: folder.path) } throws: { "\($0)".contains("cannot be loaded") }
        try Data([200]).write(to: models.appendingPathComponent("tokenizer.bin"))
        #expect { _ = try MoonshineModel(pack: folder.path) } throws: { "\($0)".contains("tokenizer.bin") }
        try FileManager.default.removeItem(at: models.appendingPathComponent("encoder.onnx"))
        #expect { _ = try MoonshineModel(pack: folder.path) } throws: { "\($0)".contains("encoder.onnx") }
    }
}
