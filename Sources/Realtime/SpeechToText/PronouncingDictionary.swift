internal import Foundation

/// The CMU pronouncing dictionary as the acoustic model's package ships it, searched for the words a grammar needs.
///
/// Decoders get only those words: a decoder with a trimmed dictionary takes 8 MB instead of 70.
struct PronouncingDictionary: Sendable {
    /// Word → its pronunciations, ARPAbet phones separated by spaces.
    private let entries: [String: [String]]

    /// - Throws: `SpeechError` naming the missing file.
    init(path: String) throws(SpeechError) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SpeechError(
                "the pronouncing dictionary \(path) is missing: install the package pocketsphinx-en-us, or set speech.model_dir"
            )
        }
        var entries: [String: [String]] = [:]
        entries.reserveCapacity(140_000)
        for line in data.split(separator: UInt8(ascii: "\n")) {
            guard let space = line.firstIndex(of: UInt8(ascii: " ")) else { continue }
            var word = line[..<space]
            if word.last == UInt8(ascii: ")"), let open = word.lastIndex(of: UInt8(ascii: "(")) { word = word[..<open] }
            entries[String(decoding: word, as: UTF8.self), default: []].append(
                String(decoding: line[line.index(after: space)...], as: UTF8.self))
        }
        self.entries = entries
    }

    func pronunciations(of word: String) -> [String] { entries[word] ?? [] }

    /// The lines of a dictionary file for these words.
    func lines(for words: some Sequence<String>) -> String {
        var text = ""
        for word in Set(words).sorted() {
            for (index, phones) in pronunciations(of: word).enumerated() {
                text += (index == 0 ? word : "\(word)(\(index + 1))") + " " + phones + "\n"
            }
        }
        return text
    }
}
