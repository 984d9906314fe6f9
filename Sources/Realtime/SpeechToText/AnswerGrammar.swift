/// A JSGF grammar for short answers on the telephone, built from the question asked.
///
/// A small grammar is what makes a recogniser without a language model usable on a telephone line: about nine of ten
/// intents right, against next to none with free dictation.
struct AnswerGrammar: Equatable {
    /// Names the grammar inside a decoder, so that it is compiled once.
    let name: String
    let text: String
    /// Every word used, for the dictionary.
    let words: Set<String>

    private static let control: [String] = [
        "hello", "hi", "hello who is this", "yes hello",
        "[could you | can you | please] repeat that", "[could you | can you | please] say that again", "pardon [me]",
        "who is this", "who's calling", "are you a robot",
        "i'm busy [right now | at the moment]", "i'm driving", "i'm in a meeting", "not now", "it's not a good time",
        "i can't talk [right now]", "[please] call [me] back [later | tomorrow]", "[please] call me (later | tomorrow)",
        "[sorry] [you have the] wrong number", "there is no one here by that name",
        "[please] stop calling me", "[please] don't call me [again]", "[i'm] not interested",
        "remove me from your list",
        "i don't know", "i'm not sure", "maybe", "i have to check", "no idea",
        "[can i | could i | may i | i want to | i would like to | i'd like to | let me] "
            + "(speak | talk) (to | with) (an operator | a person | somebody | someone | a human | an agent) [please]",
        "operator [please]", "[a] (real | human) person [please]",
        "[please] leave [me | us] (a | your) message [after the (tone | beep)]", "you have reached the voicemail",
        "i'm not available right now", "i can't come to the phone [right now]",
    ]
    private static let yes: [String] = [
        "yes [please | i will | i do | i can | i am | i have | it is | that's right | that's fine | of course]",
        "yes i will be there", "yeah [sure | that's fine]", "yep", "sure [thing]", "okay", "of course", "absolutely",
        "[that's] correct", "that's right", "that works [for me]", "sounds good", "[that's] fine", "i will [be there]",
        "i can make it", "certainly",
    ]
    private static let no: [String] = [
        "no [thank you | thanks | sorry | i don't | i can't | i won't | i'm not | i haven't | it isn't | not really]",
        "no i can't make it", "no i do not", "nope", "not really", "i can't [make it]", "i won't", "that's wrong",
    ]
    private static let digit = "zero | one | two | three | four | five | six | seven | eight | nine"
    private static let teen =
        "ten | eleven | twelve | thirteen | fourteen | fifteen | sixteen | seventeen | eighteen | nineteen"
    private static let tens = "twenty | thirty | forty | fifty | sixty | seventy | eighty | ninety"
    private static let day =
        "monday | tuesday | wednesday | thursday | friday | saturday | sunday | today | tomorrow"
    private static let month =
        "january | february | march | april | may | june | july | august | september | october | november | december"
    private static let ordinal =
        "first | second | third | fourth | fifth | sixth | seventh | eighth | ninth | tenth | eleventh | twelfth | "
        + "thirteenth | fourteenth | fifteenth | sixteenth | seventeenth | eighteenth | nineteenth | twentieth | "
        + "twenty first | twenty second | twenty third | twenty fourth | twenty fifth | twenty sixth | "
        + "twenty seventh | twenty eighth | twenty ninth | thirtieth | thirty first"
    private static let number: [String] = [
        "<number> [people | of us | please | persons]", "there are <number> of us",
        "there will be <number> [of us | people]",
        "just <number>",
    ]
    private static let date: [String] = [
        "[on] <day> [morning | afternoon | evening]", "[on] <day> at <clock>", "[at] <clock>",
        "next (week | month | <day>)",
        "[on] [the] <ordinal> [of <month>]", "<month> [the] <ordinal>", "in the (morning | afternoon | evening)",
        "at noon",
    ]

    init(_ hints: AnswerHints?) {
        let kind = hints?.kind
        var rules: [(name: String, body: String)] = [("control", Self.control.joined(separator: " | "))]
        var parts = ["<control>"]
        func add(_ name: String, _ alternatives: [String]) {
            rules.append((name, alternatives.joined(separator: " | ")))
            parts.append("<\(name)>")
        }
        if kind == nil || kind == .boolean || kind == .text {
            add("yes", Self.yes)
            add("no", Self.no)
        }
        if kind == .number || kind == .date || kind == .text {
            rules.append(("digit", Self.digit))
            rules.append(("teen", Self.teen))
            rules.append(("tens", Self.tens))
            rules.append(("below", "<digit> | <teen> | <tens> [<digit>]"))
            rules.append(("number", "<below> | <digit> hundred [[and] <below>]"))
        }
        if kind == .number || kind == .text { add("count", Self.number) }
        if kind == .date || kind == .text {
            rules.append(("day", Self.day))
            rules.append(("month", Self.month))
            rules.append(("ordinal", Self.ordinal))
            rules.append(
                (
                    "clock",
                    "<below> [o'clock | thirty | fifteen | forty five] "
                        + "[in the (morning | afternoon | evening) | a.m. | p.m.]"
                ))
            add("date", Self.date)
        }
        let choices = (hints?.choices ?? []).map { AnswerReading.normalize($0).joined(separator: " ") }.filter {
            !$0.isEmpty
        }
        if !choices.isEmpty {
            rules.append(("option", choices.joined(separator: " | ")))
            add("choice", ["[the] <option> [please]", "i would like [the] <option>", "i'd like [the] <option>"])
        }
        name =
            (kind?.rawValue ?? "open")
            + (choices.isEmpty ? "" : "-" + choices.joined(separator: "-").replacing(" ", with: "_"))
        var body = "#JSGF V1.0;\ngrammar answers;\n"
        for rule in rules { body += "<\(rule.name)> = \(rule.body);\n" }
        body += "public <answer> = \(parts.joined(separator: " | "));\n"
        text = body
        words = Self.words(in: rules.map(\.body).joined(separator: " "))
    }

    /// A grammar written by hand.
    init(name: String, text: String, words: Set<String>) {
        self.name = name
        self.text = text
        self.words = words
    }

    private static func words(in text: String) -> Set<String> {
        var result: Set<String> = []
        var isRule = false
        var word = ""
        for character in text + " " {
            if character == "<" { isRule = true }
            if !isRule, character.isLetter || character == "'" || character == "." || character.isNumber {
                word.append(character)
            } else {
                if !word.isEmpty { result.insert(word) }
                word = ""
            }
            if character == ">" { isRule = false }
        }
        return result
    }
}
