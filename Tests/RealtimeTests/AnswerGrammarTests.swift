import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct AnswerGrammarTests {
    @Test func wordsOfTheQuestionAreInTheGrammar() {
        let grammar = AnswerGrammar(AnswerHints(kind: .choice, choices: ["Red wine", "white wine"]))
        #expect(
            grammar.text.contains("red wine | white wine")
                && grammar.words.isSuperset(of: ["red", "white", "wine", "pardon"]))
        #expect(!grammar.words.contains("control"))
    }
    @Test func everyWordHasAPronunciation() throws {
        let model = try AcousticModel()
        for kind in Question.Kind.allCases {
            for word in AnswerGrammar(AnswerHints(kind: kind)).words { #expect(model.knows(word: word), "\(word)") }
        }
    }
    @Test func aMissingModelSaysWhatToInstall() {
        let error = #expect(throws: SpeechError.self) { _ = try AcousticModel(folder: "/nowhere") }
        #expect(error?.message.contains("pocketsphinx-en-us") == true)
    }
}
