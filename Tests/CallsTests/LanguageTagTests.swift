import Foundation
import Realtime
import Testing

@testable import Calls

/// RFC 5646 §2.1 and the examples of its appendix A.
@Suite struct LanguageTagTests {
    @Test(arguments: [
        "en", "ko", "ko-KR", "zh-Hant", "zh-Hans-CN", "sr-Latn-RS", "es-419", "sl-rozaj", "sl-rozaj-biske",
        "de-CH-1901", "sl-IT-nedis", "hy-Latn-IT-arevela",
        "zh-cmn-Hans-CN", "zh-yue-HK", "en-a-bbb-x-a-ccc", "de-CH-x-phonebk", "az-Arab-x-AZE-derbend",
        "en-US-u-islamcal", "zh-CN-a-myext-x-private", "EN-us",
        "ar-a-aaa-b-bbb-a-ccc".replacing("-a-ccc", with: ""), "fil", "en-x-1",
    ])
    func wellFormed(tag: String) { #expect(LanguageTag.isWellFormed(tag)) }

    @Test(arguments: [
        "", "e", "english", "auto", "i-klingon", "x-whatever", "en-", "-en", "en--US", "en_US", "en US", "en-a", "en-x",
        "en-US-US", "de-419-DE", "a-DE",
        "ar-a-aaa-b-bbb-a-ccc", "de-1901-1901", "12", "1n", "en-123456789", "한국", "en-ＵＳ", "en\n", "en-us-a-b",
        "en-Latn-Cyrl",
        "en-" + Array(repeating: "variant1", count: 5).joined(separator: "-"),
    ])
    func notWellFormed(tag: String) { #expect(!LanguageTag.isWellFormed(tag)) }
}
