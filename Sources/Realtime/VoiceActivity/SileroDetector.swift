internal import CSherpa
internal import Foundation
public import Pipeline
internal import Synchronization

/// sherpa-onnx and Silero's model, in a folder that `make speech-pack` fills (github.com/snakers4/silero-vad, MIT; sherpa-onnx, Apache-2.0).
public struct SpeechPack: Sendable {
    public static let defaultFolder = "speech-pack"
    private static let modelName = "silero_vad.onnx"
    private static let loaded = Mutex<[String: Library]>([:])

    /// The library's functions are thread-safe; what they make is not, and stays with its owner.
    fileprivate struct Library: @unchecked Sendable { let pointer: OpaquePointer }

    fileprivate let library: Library
    fileprivate let model: String

    /// - Throws: `SpeechError` that says what is missing, and how to get it.
    public init(folder: String) throws(SpeechError) {
        let advice =
            "run `make speech-pack`, or set speech.pack_dir to a folder with libsherpa-onnx-c-api.so, libonnxruntime.so and \(Self.modelName)"
        model = folder + "/" + Self.modelName
        guard FileManager.default.isReadableFile(atPath: model) else { throw SpeechError("there is no \(model): \(advice)", .unavailable) }
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

    /// Of sherpa-onnx.
    public var version: String { String(cString: csherpa_version(library.pointer)) }

    /// - Parameter threshold: 0…1, as in the speech services.
    public func detector(threshold: Float) throws(SpeechError) -> SileroDetector {
        guard let handle = csherpa_vad_create(library.pointer, model, threshold) else {
            throw SpeechError("sherpa-onnx cannot read \(model)", .unavailable)
        }
        do { return try SileroDetector(handle) } catch {
            csherpa_vad_destroy(handle)
            throw SpeechError("\(error)", .unavailable)
        }
    }
}

/// Silero VAD over a call's frames: finds speech in babble, where energy alone cannot. A verdict holds for the 32 ms window that ended last.
public final class SileroDetector: TrainedDetector {
    /// Samples of a window at 16 kHz.
    private static let window = 512

    private let handle: OpaquePointer
    private var chain: Chain<MuLawDecoder, Resampler>
    private var frames: [AudioFrame] = []
    private var samples: [Float] = []
    private var verdict = false

    fileprivate init(_ handle: OpaquePointer) throws {
        self.handle = handle
        chain = try MuLawDecoder().then(Resampler(from: 8_000, to: 16_000))
    }

    deinit { csherpa_vad_destroy(handle) }

    public func isSpeech(_ frame: EncodedFrame) -> Bool {
        frames.removeAll(keepingCapacity: true)
        try? chain.process(frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw), into: &frames)
        for frame in frames { frame.withSamples { for sample in $0 { samples.append(Float(sample) / 32_768) } } }
        while samples.count >= Self.window {
            verdict = samples.withUnsafeBufferPointer { csherpa_vad_accept(handle, $0.baseAddress, Int32(Self.window)) } != 0
            samples.removeFirst(Self.window)
        }
        return verdict
    }
}
