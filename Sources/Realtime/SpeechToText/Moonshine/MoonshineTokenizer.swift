internal import Foundation

/// Moonshine's tokens: byte pair encoding of text whose spaces are written as U+2581.
///
/// The file holds one token after another: its length in bytes (one byte, or two from 128 on: 128 + length mod 128,
/// then length / 128), and its bytes (github.com/moonshine-ai/moonshine, `bin-tokenizer.h`).
struct MoonshineTokenizer: Sendable {
    /// The token behind the last one of a text.
    static let end: Int32 = 2
    private static let space = "\u{2581}"
    /// Tokens before this one are special ones and single bytes.
    private static let firstPiece = 259
    private static let sizeLimit = 4 << 20
    /// Tokens of a file; Moonshine has 32 768.
    private static let countLimit = 1 << 18

    private let pieces: [[UInt8]]
    private let numbers: [[UInt8]: Int32]

    /// - Throws: `SpeechError` if the file is missing, or no list of tokens.
    init(path: String) throws(SpeechError) {
        guard let data = FileManager.default.contents(atPath: path), data.count <= Self.sizeLimit else {
            throw SpeechError("the speech model's tokens \(path) cannot be read", .unavailable)
        }
        guard let pieces = Self.pieces(of: [UInt8](data)), pieces.count > Self.firstPiece else {
            throw SpeechError("\(path) is not a list of the speech model's tokens", .unavailable)
        }
        self.init(pieces: pieces)
    }

    init(pieces: [[UInt8]]) {
        self.pieces = pieces
        var numbers: [[UInt8]: Int32] = [:]
        for (number, piece) in pieces.enumerated().dropFirst(Self.firstPiece) where numbers[piece] == nil {
            numbers[piece] = Int32(number)
        }
        self.numbers = numbers
    }

    static func pieces(of bytes: [UInt8]) -> [[UInt8]]? {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while var length = rest.popFirst().map(Int.init) {
            if length >= 128 {
                guard let more = rest.popFirst() else { return nil }
                length += Int(more) * 128 - 128
            }
            guard length <= rest.count, pieces.count < countLimit else { return nil }
            pieces.append(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return pieces
    }

    /// The tokens of a text, or nil if it has a character that no token writes. Of all neighbours those are joined
    /// first whose joint token has the lowest number.
    func tokens(of text: String) -> [Int32]? {
        var parts = (Self.space + text.replacing(" ", with: Self.space)).map { Array(String($0).utf8) }
        while true {
            var best: (number: Int32, place: Int)?
            for place in parts.indices.dropLast() {
                if let number = numbers[parts[place] + parts[place + 1]], number < best?.number ?? .max {
                    best = (number, place)
                }
            }
            guard let best else { break }
            parts[best.place] += parts.remove(at: best.place + 1)
        }
        var tokens: [Int32] = []
        for part in parts {
            guard let number = numbers[part] else { return nil }
            tokens.append(number)
        }
        return tokens
    }

    func text(_ tokens: some Sequence<Int32>) -> String {
        var bytes: [UInt8] = []
        for token in tokens where pieces.indices.contains(Int(token)) && token > Self.end {
            bytes += pieces[Int(token)]
        }
        return String(decoding: bytes, as: UTF8.self).replacing(Self.space, with: " ")
            .trimmingCharacters(in: .whitespaces)
    }
}
