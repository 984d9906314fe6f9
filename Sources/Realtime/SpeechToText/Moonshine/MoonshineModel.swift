internal import CMoonshine
internal import Foundation

/// The English speech model Moonshine (github.com/moonshine-ai/moonshine, MIT), as `make speech-pack` makes it from the
/// PyPI package `moonshine_cpp` (`scripts/quantise-speech-model`). ONNX Runtime of the same folder runs it.
///
/// All calls share one model: 160 MB. `@unchecked Sendable`: the library's sessions are thread-safe, and nothing here
/// changes after the start.
public final class MoonshineModel: @unchecked Sendable {
    static let files = ["encoder.onnx", "decoder.onnx", "tokenizer.bin"]
    private static let library = "libonnxruntime.so"

    let tokenizer: MoonshineTokenizer
    private let pointer: OpaquePointer

    /// Where the model lies in a speech pack.
    public static func folder(inPack pack: String) -> String { pack + "/moonshine/en" }

    public static func isPresent(inPack pack: String) -> Bool {
        files.allSatisfy { FileManager.default.isReadableFile(atPath: folder(inPack: pack) + "/" + $0) }
            && FileManager.default.isReadableFile(atPath: pack + "/" + library)
    }

    /// - Throws: `SpeechError` that says which part is missing or cannot be read.
    public init(pack: String) throws(SpeechError) {
        let folder = Self.folder(inPack: pack)
        for file in Self.files where !FileManager.default.isReadableFile(atPath: folder + "/" + file) {
            throw SpeechError("there is no \(folder)/\(file): run `make speech-pack`", .unavailable)
        }
        tokenizer = try MoonshineTokenizer(path: folder + "/" + Self.files[2])
        var words = [CChar](repeating: 0, count: 512)
        guard
            let pointer = cmoonshine_load(
                pack + "/" + Self.library, folder + "/" + Self.files[0], folder + "/" + Self.files[1], &words,
                words.count)
        else {
            let reason = String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw SpeechError(
                "the speech model in \(folder) cannot be loaded (\(reason)): run `make speech-pack`", .unavailable)
        }
        self.pointer = pointer
    }

    deinit { cmoonshine_destroy(pointer) }

    /// Hears one utterance of 16 kHz.
    /// - Throws: `SpeechError` if the model fails.
    func hear(_ samples: [Float]) throws(SpeechError) -> Utterance { try Utterance(self, samples) }

    /// What was heard, and how likely texts are. Used by one thread at a time.
    final class Utterance: LikelihoodSource {
        /// Tokens of a text: some at least, and for each second of sound more than a fast speaker has. (The model's
        /// authors take 6.5 a second.) In noise the model repeats a word without end.
        private static let leastTokens = 8
        private static let tokensPerSecond = 8
        private static let mostTokens = 96
        private static let sampleRate = 16_000

        private let model: MoonshineModel
        private let pointer: OpaquePointer
        private let tokenLimit: Int
        private let first: [Float]

        fileprivate init(_ model: MoonshineModel, _ samples: [Float]) throws(SpeechError) {
            self.model = model
            var first = [Float](repeating: 0, count: Int(cmoonshine_vocabulary(model.pointer)))
            guard let pointer = cmoonshine_hear(model.pointer, samples, samples.count, &first) else {
                throw SpeechError("speech-to-text/embedded could not hear", .broken)
            }
            self.pointer = pointer
            self.first = first
            tokenLimit = min(Self.mostTokens, Self.leastTokens + samples.count * Self.tokensPerSecond / Self.sampleRate)
        }

        deinit { cmoonshine_forget(pointer) }

        func first(_ token: Int32) -> Float { first.indices.contains(Int(token)) ? first[Int(token)] : -.infinity }

        func follow(_ rows: [[Int32]]) throws(SpeechError) {
            let length = rows.map(\.count).max() ?? 0
            var tokens: [Int32] = []
            tokens.reserveCapacity(rows.count * length)
            for row in rows {
                tokens += row
                tokens += repeatElement(MoonshineTokenizer.end, count: length - row.count)
            }
            guard cmoonshine_follow(pointer, tokens, Int32(rows.count), Int32(length)) == 0 else {
                throw SpeechError("speech-to-text/embedded could not compare texts", .broken)
            }
        }

        func next(row: Int, place: Int, token: Int32) -> Float {
            cmoonshine_log_probability(pointer, Int32(row), Int32(place), token)
        }

        /// The likeliest text, whatever it may be, and its log probability.
        func transcribe() throws(SpeechError) -> (text: String, score: Float) {
            var tokens = [Int32](repeating: 0, count: tokenLimit)
            var score: Float = 0
            let count = cmoonshine_transcribe(pointer, &tokens, Int32(tokens.count), &score)
            guard count >= 0 else { throw SpeechError("speech-to-text/embedded could not transcribe", .broken) }
            return (model.tokenizer.text(tokens.prefix(Int(count))), score)
        }
    }
}
