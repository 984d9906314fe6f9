import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct KnowledgeTests {
    @Test(arguments: [
        ("Where is the car park?", ["where", "is", "the", "car", "park"]),
        ("주차장이 있나요?", ["주차", "차장", "장이", "있나", "나요"]),
        ("B2호 룸", ["b2", "호", "룸"]),
        ("Ça coûte 3,50 €", ["ça", "coûte", "3", "50"]), ("", []), ("?!", []),
    ])
    func wordsAreFound(text: String, tokens: [String]) { #expect(KnowledgeWords.tokens(text) == tokens) }

    @Test func likenessIsOfTheTellingWords() {
        #expect(KnowledgeWords.likeness("When do you open on Sundays?", "When are you open on Sundays") == 1)
        #expect(
            KnowledgeWords.likeness("When do you open on Sundays?", "When do you close on Sundays?")
                < InformedLanguageModel.answerLikeness)
        #expect(KnowledgeWords.likeness("", "x") == 0)
    }

    @Test func documentsAreCutAtParagraphsUnderTheirHeadings() {
        let chunks = KnowledgeChunks.split(
            "Intro.\n\n# Parking\n\nOne.\n\nTwo.\n\n# Dogs\n\n" + String(repeating: "word ", count: 400))
        #expect(
            chunks[0] == "Intro." && chunks[1] == "Parking\nOne.\nTwo."
                && chunks.dropFirst(2).allSatisfy { $0.hasPrefix("Dogs\nword") && $0.count < 900 })
        #expect(chunks.count == 5 && KnowledgeChunks.split(" \n\n ").isEmpty)
        // Without a place to cut.
        #expect(
            KnowledgeChunks.split(String(repeating: "x", count: 5_000)).allSatisfy {
                $0.count <= KnowledgeChunks.length
            })
    }
}
