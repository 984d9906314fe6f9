internal import CSherpa
internal import Foundation
internal import Synchronization

/// sherpa-onnx (Apache-2.0) and the models for it, in a folder that `make speech-pack` begins. `docs/local-models.md`
/// tells what may be added.
public struct SpeechPack: Sendable {
    public static let defaultFolder = "speech-pack"
    private static let loaded = Mutex<[String: Library]>([:])

    /// The library's functions are thread-safe; the objects that they make are not, and each has one owner.
    struct Library: @unchecked Sendable { let pointer: OpaquePointer }

    let library: Library
    private let folder: String

    /// - Throws: `SpeechError` with the missing part and how to get it.
    public init(folder: String) throws(SpeechError) {
        let advice =
            "run `make speech-pack`, or set speech.pack_dir to a folder with "
            + "libsherpa-onnx-c-api.so and libonnxruntime.so"
        self.folder = folder
        let found = Self.loaded.withLock { loaded -> Result<Library, SpeechError> in
            if let known = loaded[folder] { return .success(known) }
            var words = [CChar](repeating: 0, count: 512)
            guard let pointer = csherpa_load(folder, &words, words.count) else {
                let reason = String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                return .failure(SpeechError("sherpa-onnx cannot be loaded (\(reason)): \(advice)", .unavailable))
            }
            loaded[folder] = Library(pointer: pointer)
            return .success(Library(pointer: pointer))
        }
        library = try found.get()
    }

    /// The folders of `KIND/LANGUAGE`, each with all these files.
    /// - Throws: `SpeechError` if the pack or one of its files is missing.
    func languages(of kind: String, files: [String]) throws(SpeechError) -> [(language: String, folder: String)] {
        let root = folder + "/" + kind
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []).filter {
            LanguageTag.isWellFormed($0)
        }.sorted()
        guard !names.isEmpty else {
            throw SpeechError(
                "there is no model in \(root)/LANGUAGE: docs/local-models.md tells which to put there", .unavailable)
        }
        for name in names {
            for file in files where !FileManager.default.isReadableFile(atPath: "\(root)/\(name)/\(file)") {
                throw SpeechError(
                    "there is no \(root)/\(name)/\(file): docs/local-models.md tells what belongs there", .unavailable)
            }
        }
        return names.map { (LanguageTag.primary($0), root + "/" + $0) }
    }
}
