import Foundation
import Testing

@testable import Realtime

struct MoonshineTokenizerTests {
    /// 259 tokens that no text uses, and then pieces.
    private let tokenizer = MoonshineTokenizer(
        pieces: (0..<259).map { [UInt8($0 % 256)] }
            + ["\u{2581}", "y", "e", "s", ".", "es", "yes", "\u{2581}yes", "n", "o", "no"].map { Array($0.utf8) })

    @Test func theTokenOfTheLowestNumberIsJoinedFirst() {
        #expect(tokenizer.tokens(of: "yes.") == [266, 263])
        #expect(tokenizer.tokens(of: "no yes") == [259, 269, 266])
    }

    @Test func aCharacterThatNoTokenWritesGivesNone() { #expect(tokenizer.tokens(of: "yeß") == nil) }

    @Test func tokensAreWrittenAsText() { #expect(tokenizer.text([266, 263, 2, 259, 269]) == "yes. no") }

    @Test(arguments: [[5, 1, 2] as [UInt8], [200], [0, 3, 1]])
    func aFileThatEndsWithinATokenIsRefused(bytes: [UInt8]) {
        #expect(MoonshineTokenizer.pieces(of: bytes) == nil)
    }

    @Test func longTokensHaveALengthOfTwoBytes() {
        let long = [UInt8](repeating: 7, count: 131)
        #expect(MoonshineTokenizer.pieces(of: [1, 9, 131, 1] + long) == [[9], long])
    }
}
