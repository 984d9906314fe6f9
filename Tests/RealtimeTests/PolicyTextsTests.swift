import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct PolicyTextsTests {
    @Test func everyLanguageHasTheSameTextsAndPatterns() {
        let english = PolicyTexts.of("en")
        #expect(english.texts.count > 20)
        for language in PolicyTexts.languages {
            let other = PolicyTexts.of(language)
            #expect(Set(other.texts.keys) == Set(english.texts.keys), "\(language)")
            #expect(Set(other.patterns.keys) == Set(english.patterns.keys), "\(language)")
            #expect(other.texts.values.allSatisfy { !$0.isEmpty })
        }
    }
    @Test func placeholdersAreFilledOnce() {
        #expect(PolicyTexts.fill("{a} and {b} {unknown} {", ["a": "{b}", "b": "2"]) == "{b} and 2 {unknown} {")
    }
}
