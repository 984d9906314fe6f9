internal import JSON
internal import Problems
internal import Realtime

/// The member `questions` of calls and templates.
enum QuestionFields {
    static let textLimit = 500
    static let countRange = 1...20
    static let choiceRange = 2...9
    private static let choiceLimit = 100

    static let field = Field(
        "questions",
        .list(
            .textOrObject(
                .text(textLimit, .paragraph),
                [
                    Field("text", .text(textLimit, .paragraph), required: true, "what is asked"),
                    Field(
                        "type", .choice(Question.Kind.allCases.map(\.rawValue)), default: "text", "kind of answer"),
                    Field(
                        "choices", .list(.text(choiceLimit), count: 0...choiceRange.upperBound),
                        "answers to choose from, for the type choice"),
                    Field("required", .boolean, default: true, "the task is not done without it"),
                    Field(
                        "ask_if",
                        .object([
                            Field("question", .text(10), required: true, "id of an earlier question, e.g. q1"),
                            Field("equals", .scalar(textLimit), required: true, "its answer"),
                        ]), "asked only after this answer"),
                ]), count: countRange), required: true, "what must be found out, in order")

    /// The questions that were read; what they say against each other is noted.
    static func questions(_ fields: inout FieldReader) -> [Question] {
        (fields.list(field.name) ?? []).enumerated().compactMap { index, item in
            let id = "q\(index + 1)"
            switch item {
            case .text(let text)?: return Question(id: id, text: text)
            case .object(let members)?: return question(members, id, "questions[\(index)]", before: index, &fields)
            default: return nil
            }
        }
    }

    private static func question(
        _ members: FieldValues, _ id: String, _ name: String, before index: Int, _ fields: inout FieldReader
    ) -> Question? {
        let condition = members.object("ask_if").flatMap {
            Self.condition($0, name + ".ask_if", before: index, &fields)
        }
        guard let kind = members.choice("type", as: Question.Kind.self) else { return nil }
        var choices: [String] = []
        for (place, choice) in (members.list("choices") ?? []).enumerated() {
            guard case .text(let text)? = choice else { continue }
            if !text.contains(where: { $0.isLetter || $0.isNumber }) {
                fields.fail("\(name).choices[\(place)]", .notChoiceText)
            }
            choices.append(text)
        }
        if kind == .choice, !choiceRange.contains(choices.count) {
            fields.fail(
                name + ".choices", .choiceCountNotInRange,
                ["least": .number(choiceRange.lowerBound), "most": .number(choiceRange.upperBound)])
        }
        if kind != .choice, !choices.isEmpty { fields.fail(name + ".choices", .onlyForChoice) }
        guard let text = members.text("text"), let isRequired = members.boolean("required") else { return nil }
        return Question(
            id: id, text: text, kind: kind, choices: choices, isRequired: isRequired, condition: condition)
    }

    /// `{"question": "q1", "equals": …}`, of an earlier question.
    private static func condition(
        _ members: FieldValues, _ name: String, before index: Int, _ fields: inout FieldReader
    ) -> Question.Condition? {
        guard let id = members.text("question"), let equals = members["equals"].flatMap({ Answer.Value($0) }) else {
            return nil
        }
        guard (0..<index).contains(where: { "q\($0 + 1)" == id }) else {
            fields.fail(name + ".question", .notEarlierQuestion)
            return nil
        }
        if equals == .text("") { fields.fail(name + ".equals", .blank) }
        return Question.Condition(question: id, equals: equals)
    }
}

extension Answer.Value {
    /// nil: no value of an answer.
    init?(_ value: FieldValue) {
        switch value {
        case .boolean(let value): self = .boolean(value)
        case .number(let value): self = .number(value)
        case .text(let value): self = .text(value)
        case .integer, .time, .list, .object, .free: return nil
        }
    }
}
