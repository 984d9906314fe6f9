internal import Pipeline

@testable internal import Realtime

/// What was read and written again is the same sound.
func fuzzWave(_ input: FuzzInput) {
    guard let wave = try? WaveFile(input.bytes) else { return }
    expect(wave.samples.count <= input.bytes.count, "more samples than bytes")
    expect((4_000...192_000).contains(wave.sampleRate), "\(wave.sampleRate) Hz")
    let bytes = wave.bytes
    expect(bytes.count == WaveFile.headerLength + 2 * wave.samples.count, "a file of \(bytes.count) bytes")
    expect((try? WaveFile(bytes)) == wave, "read again, it is another sound")
}

/// A list of tokens that was read and written again is the same. With any list a text becomes tokens of the list, which
/// are written as the text.
func fuzzSpeechTokens(_ input: FuzzInput) {
    guard let pieces = MoonshineTokenizer.pieces(of: input.bytes) else { return }
    expect(pieces.reduce(0) { $0 + $1.count + 1 } <= input.bytes.count, "more of tokens than there is of the file")
    var written: [UInt8] = []
    for piece in pieces {
        written +=
            piece.count < 128 ? [UInt8(piece.count)] : [UInt8(128 + piece.count % 128), UInt8(piece.count / 128)]
        written += piece
    }
    expect(MoonshineTokenizer.pieces(of: written) == pieces, "read again, they are other tokens")
    // The first ones are no pieces of text.
    let tokenizer = MoonshineTokenizer(pieces: [[UInt8]](repeating: [], count: 259) + pieces)
    for text in ["yes, that is right.", String(input.text.prefix(64))] {
        guard let tokens = tokenizer.tokens(of: text) else { continue }
        expect(tokens.allSatisfy { (259..<259 + pieces.count).contains(Int($0)) }, "a token that is not in the list")
        expect(tokenizer.text(tokens).count <= text.count, "the tokens of a text say more than it")
    }
    _ = tokenizer.text(input.bytes.map { Int32($0) * 7 - 300 })
}
