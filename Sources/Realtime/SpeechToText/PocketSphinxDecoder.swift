internal import CPocketSphinx
internal import Foundation

/// The acoustic model on disk, shared by all decoders of the process.
public struct AcousticModel: Sendable {
    /// Where Debian's pocketsphinx-en-us puts it.
    public static let defaultFolder = "/usr/share/pocketsphinx/model/en-us"

    let folder: String
    let dictionary: PronouncingDictionary

    /// - Throws: `SpeechError` saying what to install.
    public init(folder: String = AcousticModel.defaultFolder) throws(SpeechError) {
        self.folder = folder
        guard FileManager.default.fileExists(atPath: folder + "/en-us/mdef") else {
            throw SpeechError(
                "the English speech model is not in \(folder): "
                    + "install the package pocketsphinx-en-us, or set speech.model_dir"
            )
        }
        dictionary = try PronouncingDictionary(path: folder + "/cmudict-en-us.dict")
    }

    public func knows(word: String) -> Bool { !dictionary.pronunciations(of: word).isEmpty }
}

/// One pocketsphinx decoder for 16 kHz audio. Used by one thread at a time.
///
/// `@unchecked Sendable`: a leased decoder is used on one worker at a time and returned afterwards; the lock of the
/// pool orders the accesses.
public final class PocketSphinxDecoder: @unchecked Sendable {
    /// Cepstral mean of telephone speech, found by iterating `trunkline bench recognition`: the model's own start value
    /// is that of wide-band speech and takes longer to adapt than an answer lasts (24 of 58 answers right, against 58).
    static let telephoneMean: [Float] = [
        44.68, 16.41, -18.56, 34.54, -15.86, 7.60, -0.83, -14.40, 5.42, -13.29, 7.79, -2.37, -0.01,
    ]

    /// Grammars that stay compiled, about 40 KiB each: one for each kind of question, and for the choices of some.
    /// Choices are free text, so that there may be any number of them.
    static let grammarLimit = 16

    private let decoder: OpaquePointer
    /// In the order of their use, the last used one last.
    private(set) var grammars: [String] = []
    private var frames = 0
    private var isInUtterance = false

    /// - Parameter tight: narrower beams, for a search whose score matters more than its words.
    public init(model: AcousticModel, words: some Sequence<String>, extraDictionary: String = "", tight: Bool = false)
        throws(SpeechError)
    {
        err_set_logfp(nil)
        // It reads a file: one in memory, for the words are those of a call.
        let descriptor = cps_memory_file()
        guard descriptor >= 0 else { throw SpeechError("no memory for the recogniser's dictionary") }
        defer { close(descriptor) }
        let path = "/proc/self/fd/\(descriptor)"
        do {
            let file = FileHandle(fileDescriptor: descriptor)
            try file.write(contentsOf: Data((model.dictionary.lines(for: words) + extraDictionary).utf8))
        } catch { throw SpeechError("no memory for the recogniser's dictionary") }
        var arguments = [
            "trunkline", "-hmm", model.folder + "/en-us", "-dict", path, "-samprate", "16000", "-bestpath", "no",
            "-fwdflat", "no",
            "-logfn", "/dev/null",
        ]
        if tight { arguments += ["-beam", "1e-20", "-wbeam", "1e-12", "-pbeam", "1e-20", "-maxhmmpf", "200"] }
        var vector = arguments.map { strdup($0) }
        defer { for item in vector { free(item) } }
        guard let configuration = cps_configuration(Int32(vector.count), &vector) else {
            throw SpeechError("pocketsphinx refuses its configuration")
        }
        defer { cmd_ln_free_r(configuration) }
        guard let decoder = ps_init(configuration) else {
            throw SpeechError("pocketsphinx cannot load the speech model in \(model.folder)")
        }
        self.decoder = decoder
    }

    deinit { ps_free(decoder) }

    /// Adds a word with its phones. False if it is there already or has unknown phones.
    public func add(word: String, phones: String) { _ = ps_add_word(decoder, word, phones, 1) }

    /// Compiles the grammar if this decoder does not know it yet, and selects it.
    public func select(grammar name: String, text: String) throws(SpeechError) {
        if isInUtterance {  // a search cannot be changed in mid-utterance
            ps_end_utt(decoder)
            isInUtterance = false
        }
        if let known = grammars.firstIndex(of: name) {
            grammars.remove(at: known)
        } else {
            guard ps_set_jsgf_string(decoder, name, text) == 0 else {
                throw SpeechError("pocketsphinx refuses the grammar \(name)")
            }
        }
        grammars.append(name)
        guard ps_set_search(decoder, name) == 0 else {
            throw SpeechError("pocketsphinx cannot select the grammar \(name)")
        }
        while grammars.count > Self.grammarLimit { ps_unset_search(decoder, grammars.removeFirst()) }
    }

    public func start() throws(SpeechError) {
        // A call that ended in mid-turn left its utterance open.
        if isInUtterance { ps_end_utt(decoder) }
        isInUtterance = false
        var mean = Self.telephoneMean
        cps_reset_cepstral_mean(decoder, &mean)
        frames = 0
        guard ps_start_utt(decoder) == 0 else { throw SpeechError("pocketsphinx cannot start an utterance") }
        isInUtterance = true
    }

    public func process(_ samples: UnsafeBufferPointer<Int16>) {
        frames += samples.count
        _ = ps_process_raw(decoder, samples.baseAddress, samples.count, 0, 0)
    }

    /// Ends the utterance. `score` is the path's log likelihood in pocketsphinx's units.
    public func finish() -> (text: String, score: Int32, samples: Int) {
        ps_end_utt(decoder)
        isInUtterance = false
        var score: Int32 = 0
        let text = ps_get_hyp(decoder, &score).map { String(cString: $0) } ?? ""
        return (text, score, frames)
    }
}
