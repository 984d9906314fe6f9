import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct SentenceSplitterTests {
    static let cases: [(input: [String], output: [String])] = [
        (["Hello. How are", " you? "], ["Hello.", "How are you?"]),
        (["It costs 3.", "50 dollars. "], ["It costs 3.50 dollars."]),
        (["Dr. Kim is in. "], ["Dr. Kim is in."]),
        (["\"Stop!\" he said. "], ["\"Stop!\"", "he said."]),
        (["안녕하세요. 반갑습니다。 네"], ["안녕하세요.", "반갑습니다。", "네"]),
        (["..."], []),
        (["At 3 p.m. we close."], ["At 3 p.m. we close."]),
        (["Wait… what?"], ["Wait…", "what?"]),
    ]
    @Test(arguments: cases.indices) func splits(index: Int) throws {
        #expect(try StageHarness.run(SentenceSplitter(), Self.cases[index].input) == Self.cases[index].output)
    }
    @Test func endlessTextIsCut() throws {
        let output = try StageHarness.run(SentenceSplitter(), [String](repeating: "word, ", count: 100))
        #expect(output.count > 1 && output.allSatisfy { $0.count <= SentenceSplitter.longestSentence })
    }
}
