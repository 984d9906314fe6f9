/// Derives the kind of answer that a question wants from its wording, if the request does not name it.
public struct QuestionReading: Sendable, Equatable {
    public let kind: Question.Kind

    public init(_ question: Question) {
        guard question.kind == .text else {
            kind = question.kind
            return
        }
        if !question.choices.isEmpty {
            kind = .choice
            return
        }
        let text = question.text.lowercased()
        let words = text.split { !$0.isLetter && $0 != "'" }.map(String.init)
        let numberPhrases = ["how many", "how much", "what number", "몇 명", "몇 개", "몇명", "몇개", "сколько"]
        let datePhrases = [
            "when ", "what day", "which day", "what time", "what date", "언제", "몇 시", "무슨 요일", "когда", "в какой день",
        ]
        if numberPhrases.contains(where: text.contains) {
            kind = .number
        } else if datePhrases.contains(where: text.contains) {
            kind = .date
        } else if let first = words.first, Self.auxiliaries.contains(first) {
            kind = .boolean
        } else if words.contains("right") || words.contains("correct")
            || Self.booleanEndings.contains(where: text.contains)
        {
            kind = .boolean
        } else {
            kind = .text
        }
    }

    private static let auxiliaries: Set<String> = [
        "will", "would", "do", "does", "did", "are", "is", "was", "were", "can", "could", "have", "has", "had",
        "should",
        "shall", "may", "am", "isn't", "aren't", "won't", "don't", "didn't",
    ]
    private static let booleanEndings = [
        "하시나요", "습니까", "나요?", "까요?", "으세요?", "하세요?", "인가요", "ㄴ가요", "ли ", "правильно",
    ]
}
