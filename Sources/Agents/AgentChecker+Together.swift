public import JSON
public import Problems
internal import Realtime

/// Places in texts, and what leaves say together.
extension AgentChecker {
    /// Roots and names that the server fills in when a call is created.
    static let ownPlaces: Set<[String]> = [
        ["call", "id"], ["call", "direction"], ["caller", "number"], ["callee", "number"], ["agent", "slug"],
        ["agent", "version"], ["now"], ["today"], ["weekday"],
    ]
    /// Names that no variable may have: they stand alone in a place.
    static let ownNames: Set<String> = ["now", "today", "weekday"]

    mutating func template(_ text: String, _ limit: Int, _ field: String) -> JSONValue? {
        let trimmed = text.trimmed
        if trimmed.isEmpty {
            fail(field, .blank)
            return nil
        }
        if trimmed.count > limit { fail(field, .tooLong, ["limit": .number(limit)]) }
        if let problem = TextRule.paragraph.problem(with: text) { fail(field, problem) }
        do throws(Template.Failure) {
            for place in try Template(trimmed).places { check(place.path, field) }
        } catch {
            switch error {
            case .unclosed: fail(field, .placeNotClosed)
            case .badPath(let path): fail(field, .notPlace, ["name": .text(path)])
            }
        }
        return .string(trimmed)
    }

    private mutating func check(_ path: [String], _ field: String) {
        let name = path.joined(separator: ".")
        if Self.ownPlaces.contains(path) { return }
        switch path.first {
        case "variables" where path.count == 2 && variables.contains(path[1]): return
        case let first? where path.count == 1 && variables.contains(first): return
        case "answers", "tools": fail(field, .placeNotSupportedYet, ["name": .text(name)])
        case "secrets": fail(field, .secretNotHere)
        default: fail(field, .unknownPlace, ["name": .text(name)])
        }
    }

    mutating func checkTogether() {
        checkVariables()
        checkQuestions()
        checkMode()
        for list in ["tools", "mcp", "knowledge.sets"] { checkOnce(list, document[path: list]?.texts ?? []) }
        if document[path: "voicemail.action"] == "leave_message", document[path: "voicemail.message"] == nil,
            environment.configured["voicemail.message"] == nil, !hasFailed("voicemail.message")
        {
            fail("voicemail.message", .requiredMessage)
        }
        checkLanguage()
    }

    private func hasFailed(_ field: String) -> Bool { errors.contains { $0.field == field } }

    private mutating func checkVariables() {
        var seen: Set<String> = []
        for (index, variable) in (document["variables"]?.items ?? []).enumerated() {
            guard let name = variable["name"]?.string else { continue }
            let field = "variables[\(index)]"
            if !seen.insert(name).inserted { fail(field + ".name", .givenTwice) }
            if Self.ownNames.contains(name) { fail(field + ".name", .reservedName) }
            if variable["required"] == true, variable["default"] != nil {
                fail(field + ".default", .notBeside, ["fields": .words(["required"])])
            }
        }
    }

    private mutating func checkOnce(_ field: String, _ names: [String]) {
        for (index, name) in names.enumerated() where names[..<index].contains(name) {
            fail("\(field)[\(index)]", .givenTwice)
        }
    }

    /// What SPEC §1.1 says of questions.
    private mutating func checkQuestions() {
        for (index, question) in (document["questions"]?.items ?? []).enumerated() where question.members != nil {
            let field = "questions[\(index)]"
            let choices = question["choices"]?.texts ?? []
            let isChoice = question["type"] == "choice"
            if isChoice, !AgentForm.choiceRange.contains(choices.count), !hasFailed(field + ".choices") {
                fail(
                    field + ".choices", .choiceCountNotInRange,
                    [
                        "least": .number(AgentForm.choiceRange.lowerBound),
                        "most": .number(AgentForm.choiceRange.upperBound),
                    ])
            }
            if !isChoice, !choices.isEmpty { fail(field + ".choices", .onlyForChoice) }
            for (place, choice) in choices.enumerated()
            where !choice.contains(where: { $0.isLetter || $0.isNumber }) {
                fail("\(field).choices[\(place)]", .notChoiceText)
            }
            guard let condition = question["ask_if"] else { continue }
            if let id = condition["question"]?.string {
                if !(0..<index).contains(where: { "q\($0 + 1)" == id }) {
                    fail(field + ".ask_if.question", .notEarlierQuestion)
                }
            } else if !hasFailed(field + ".ask_if.question") {
                fail(field + ".ask_if.question", .required)
            }
            if condition["equals"] == nil, !hasFailed(field + ".ask_if.equals") {
                fail(field + ".ask_if.equals", .required)
            }
        }
    }

    /// `embedded` is a promise: nothing leaves the machine.
    private mutating func checkMode() {
        switch document["mode"]?.string {
        case "embedded":
            for leaf in AgentForm.leaves {
                guard case .provider(let provider) = leaf.kind, let name = document[path: leaf.path]?.string,
                    !provider.isLocal(name)
                else { continue }
                fail(leaf.path, .leavesTheMachine, ["provider": .text(name)])
            }
        case "realtime" where document[path: "realtime.provider"] == nil && !hasFailed("realtime.provider"):
            let lacking = AgentProvider.speechModel.names.map { environment.missing(.speechModel, $0) }
            if !lacking.contains(nil) {
                fail("mode", .noSpeechModel, ["settings": .words(lacking.compactMap(\.self))])
            }
        default: break
        }
    }

    private mutating func checkLanguage() {
        guard document["language"] != nil || document["voice"] != nil || document["mode"] != nil else { return }
        warnings = environment.warnings(of: document, language: nil)
    }
}

extension AgentEnvironment {
    /// What calls of an agent would be warned of.
    /// - Parameter language: the call's; nil: the agent's, or the configuration's.
    public func warnings(of document: JSONValue, language: String?) -> [Problem] {
        let mode = document["mode"] ?? configured["mode"]
        guard let language = language ?? (document["language"] ?? configured["language"])?.string, mode != "realtime"
        else { return [] }
        let local = mode == "embedded" ? "embedded" : nil
        let recognised = document[path: "voice.stt_language"]?.string ?? language
        let recogniser = document[path: "voice.stt_provider"]?.string ?? local
        let voice = document[path: "voice.tts_provider"]?.string ?? local
        let found = [
            // The recogniser need not know the language that is spoken, nor the voice the one that is recognised.
            warning(recognised, recogniser, voice).flatMap { $0.code == .answersByKeypad ? $0 : nil },
            warning(language, recogniser, voice).flatMap { $0.code == .answersByKeypad ? nil : $0 },
        ]
        return found.compactMap(\.self)
    }
}

extension AgentProvider {
    /// It runs in this process.
    func isLocal(_ name: String) -> Bool { self != .speechModel && ["embedded", "sherpa"].contains(name) }
}
