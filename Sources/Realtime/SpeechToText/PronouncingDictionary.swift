internal import Foundation

/// The CMU pronouncing dictionary as the acoustic model's package ships it, searched for the words a grammar needs.
///
/// Decoders get only those words: a decoder with a trimmed dictionary takes 8 MB instead of 70.
///
/// The file stays as it is, 3 MB with 135 000 lines; an index of 1 MB finds a word's lines in it. A dictionary of
/// strings would take 20 MB, and longer to build than everything else at start-up.
struct PronouncingDictionary: Sendable {
    /// Bytes of a file, at most; a line's place is stored in 32 bits.
    static let sizeLimit = 64 << 20

    private let text: Data
    /// Open addressing by the hash of a word: the place of a line plus one, or 0 if the slot is empty. A word's further
    /// pronunciations follow its first one in the order of the file. The size is a power of two, at least twice the
    /// number of lines, so that every search ends.
    private let slots: [UInt32]

    /// - Throws: `SpeechError` naming the missing file.
    init(path: String) throws(SpeechError) {
        guard let text = FileManager.default.contents(atPath: path) else {
            throw SpeechError(
                "the pronouncing dictionary \(path) is missing: "
                    + "install the package pocketsphinx-en-us, or set speech.model_dir"
            )
        }
        guard text.count <= Self.sizeLimit else {
            throw SpeechError("the pronouncing dictionary \(path) is larger than \(Self.sizeLimit >> 20) MB")
        }
        self.text = text
        slots = text.withUnsafeBytes { Lines($0).map(Self.index) ?? [0] }
    }

    func pronunciations(of word: String) -> [String] {
        text.withUnsafeBytes { bytes in
            guard let lines = Lines(bytes) else { return [] }
            var found: [String] = []
            var word = word
            word.withUTF8 { wanted in
                guard let wantedStart = UnsafeRawBufferPointer(wanted).baseAddress else { return }
                var slot = Lines.hash(wantedStart, wanted.count) & (slots.count - 1)
                while slots[slot] != 0 {
                    let start = Int(slots[slot]) - 1
                    if let line = lines.line(at: start), line.wordEnd - start == wanted.count,
                        memcmp(lines.base + start, wantedStart, wanted.count) == 0
                    {
                        let phones = UnsafeRawBufferPointer(
                            start: lines.base + line.phones, count: line.end - line.phones)
                        found.append(String(decoding: phones, as: UTF8.self))
                    }
                    slot = (slot + 1) & (slots.count - 1)
                }
            }
            return found
        }
    }

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

    private static func index(_ lines: Lines) -> [UInt32] {
        var size = 2
        while size < 2 * lines.count { size *= 2 }
        return [UInt32](unsafeUninitializedCapacity: size) { slots, filled in
            slots.initialize(repeating: 0)
            filled = size
            var start = 0
            while start < lines.size {
                let end = lines.end(of: start)
                if let line = lines.line(at: start) {
                    var slot = Lines.hash(lines.base + start, line.wordEnd - start) & (size - 1)
                    while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
                    slots[slot] = UInt32(start + 1)
                }
                start = end + 1
            }
        }
    }

    /// The bytes of the file by lines: plain pointers, for a debug build reads all of them at every start.
    private struct Lines {
        let base: UnsafeRawPointer
        let size: Int

        /// Nil for an empty file, which has no bytes to point to.
        init?(_ bytes: UnsafeRawBufferPointer) {
            guard let base = bytes.baseAddress, !bytes.isEmpty else { return nil }
            self.base = base
            size = bytes.count
        }

        var count: Int {
            var count = 0
            var start = 0
            while start < size {
                count += 1
                start = end(of: start) + 1
            }
            return count
        }

        /// Where the line that begins at `start` ends.
        func end(of start: Int) -> Int {
            guard let found = memchr(base + start, Int32(UInt8(ascii: "\n")), size - start) else { return size }
            return UnsafeRawPointer(found) - base
        }

        /// The ends of a line's word, without the number of a further pronunciation, and of the line, and where the
        /// phones begin; nil where no space separates word and phones.
        func line(at start: Int) -> (wordEnd: Int, phones: Int, end: Int)? {
            let end = end(of: start)
            guard let found = memchr(base + start, Int32(UInt8(ascii: " ")), end - start) else { return nil }
            let space = UnsafeRawPointer(found) - base
            var wordEnd = space
            if space > start, byte(space - 1) == UInt8(ascii: ")") {
                var open = space - 1
                while open > start, byte(open) != UInt8(ascii: "(") { open -= 1 }
                if byte(open) == UInt8(ascii: "(") { wordEnd = open }
            }
            return (wordEnd, space + 1, end)
        }

        private func byte(_ place: Int) -> UInt8 { base.load(fromByteOffset: place, as: UInt8.self) }

        /// Of a word's first and last eight bytes and its length.
        static func hash(_ word: UnsafeRawPointer, _ count: Int) -> Int {
            var first: UInt64 = 0
            var last: UInt64 = 0
            let some = min(8, count)
            memcpy(&first, word, some)
            memcpy(&last, word + (count - some), some)
            let mixed = (first &* 0x9E37_79B9_7F4A_7C15) ^ ((last &+ UInt64(count)) &* 0xC2B2_AE3D_27D4_EB4F)
            return Int(truncatingIfNeeded: (mixed ^ mixed >> 29) &* 0xFF51_AFD7_ED55_8CCD >> 33)
        }
    }
}
