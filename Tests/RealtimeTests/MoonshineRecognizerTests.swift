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
        -> MoonshineRecognizer.Recognition
    {
        let speech = try voice.synthesize(text)
        let silence = [Float](repeating: 0, count: 4_800)
        return try Self.recognizer.get().recognize(
            silence + speech.samples.map { Float($0) / 32_768 } + silence, hints)
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
        let heard = try Self.recognizer.get().recognize(
            [Float](repeating: 0, count: 16_000), AnswerHints(kind: .boolean))
        #expect(EmbeddedPolicy.value(of: heard.text, question: Question(id: "q1", text: "", kind: .boolean)) == nil)
        #expect(try Self.recognizer.get().recognize([], nil).text.isEmpty)
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
        try Data("no model".utf8).write(to: models.appendingPathComponent("encoder_model.ort"))
        #expect { _ = try MoonshineModel(pack: folder.path) } throws: { "\($0)".contains("cannot be loaded") }
        try Data([200]).write(to: models.appendingPathComponent("tokenizer.bin"))
        #expect { _ = try MoonshineModel(pack: folder.path) } throws: { "\($0)".contains("tokenizer.bin") }
        try FileManager.default.removeItem(at: models.appendingPathComponent("encoder_model.ort"))
        #expect { _ = try MoonshineModel(pack: folder.path) } throws: { "\($0)".contains("encoder_model.ort") }
    }
}
