internal import CSilero
internal import Foundation

/// Silero VAD (github.com/snakers4/silero-vad, MIT), which ONNX Runtime runs; `make speech-pack` fetches both.
///
/// All calls share one model. `@unchecked Sendable`: the library's sessions are thread-safe, and nothing here changes
/// after the start.
public final class SileroModel: @unchecked Sendable {
    private static let library = "libonnxruntime.so"
    private static let file = "silero_vad.onnx"

    let pointer: OpaquePointer

    /// - Throws: `SpeechError` that says which part is missing or cannot be read.
    public init(pack: String) throws(SpeechError) {
        let advice =
            "run `make speech-pack`, or set speech.pack_dir to a folder with \(Self.library) and \(Self.file)"
        let model = pack + "/" + Self.file
        guard FileManager.default.isReadableFile(atPath: model) else {
            throw SpeechError("there is no \(model): \(advice)", .unavailable)
        }
        var words = [CChar](repeating: 0, count: 512)
        guard let pointer = csilero_load(pack + "/" + Self.library, model, &words, words.count) else {
            let reason = String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw SpeechError("\(model) cannot be loaded (\(reason)): \(advice)", .unavailable)
        }
        self.pointer = pointer
    }

    deinit { csilero_destroy(pointer) }

    /// A call's detector.
    /// - Parameter threshold: 0…1, as in the speech services.
    /// - Throws: `SpeechError` if there is no memory, or the model does not give what Silero's gives.
    public func detector(threshold: Float) throws(SpeechError) -> SileroDetector {
        try SileroDetector(self, threshold: threshold)
    }
}
