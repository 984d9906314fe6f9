public import Problems
internal import Realtime

extension CallSettings {
    /// What a call in this language lacks, in the words of the API's `warnings`, of `trunkline doctor` and of the
    /// dashboard's forms; nil: nothing.
    public func warning(language: String) -> Problem? {
        switch support(language) {
        case .understood: nil
        case .keypad: Problem(.answersByKeypad, ["language": .text(language)])
        case .silent: Problem(.languageNotSpoken, ["language": .text(language)])
        }
    }
}
