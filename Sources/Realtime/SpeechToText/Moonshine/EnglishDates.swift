/// Days, dates and times as callers say them.
enum EnglishDates {
    private static let weekdays = [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]
    private static let ordinals = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
        "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
        "twentieth", "twenty first", "twenty second", "twenty third", "twenty fourth", "twenty fifth", "twenty sixth",
        "twenty seventh", "twenty eighth", "twenty ninth", "thirtieth", "thirty first",
    ]
    private static let partsOfDay = ["morning", "afternoon", "evening"]
    private static let minutes = [("30", "thirty"), ("15", "fifteen"), ("45", "forty-five")]

    static let phrases: [AnswerPhrase] = days + times + dates

    private static func all(_ meaning: String, _ texts: [String]) -> [AnswerPhrase] {
        AnswerPhrase.all(.date(meaning), texts)
    }

    private static let days: [AnswerPhrase] = {
        var phrases: [AnswerPhrase] = []
        for day in weekdays {
            phrases += all(
                day,
                [
                    "\(day).", "\(day), please.", "On \(day).", "On \(day), please.", "This \(day).", "\(day) works.",
                    "\(day) would be good.", "I think \(day).",
                ])
            phrases += all("next \(day)", ["Next \(day)."])
            for part in partsOfDay {
                phrases += all("\(day) \(part)", ["\(day) \(part).", "On \(day) \(part)."])
            }
        }
        for (day, upper) in [("today", "Today"), ("tomorrow", "Tomorrow")] {
            phrases += all(day, ["\(upper).", "\(upper), please."])
            for part in partsOfDay { phrases += all("\(day) \(part)", ["\(upper) \(part)."]) }
        }
        phrases += all("the day after tomorrow", ["The day after tomorrow."])
        for span in ["week", "month"] { phrases += all("next \(span)", ["Next \(span).", "Next \(span), please."]) }
        for part in partsOfDay { phrases += all(part, ["In the \(part).", "This \(part)."]) }
        return phrases + all("noon", ["At noon.", "Noon."]) + all("now", ["Now.", "Right now."])
    }()

    private static let times: [AnswerPhrase] = {
        var phrases: [AnswerPhrase] = []
        for hour in 1...12 {
            let word = EnglishNumbers.small[hour]
            let upper = AnswerPhrase.capitalized(word)
            phrases += all("\(hour)", ["At \(word).", "At \(word) o'clock.", "\(upper) o'clock."])
            phrases += all("\(hour) a.m.", ["\(upper) in the morning."])
            phrases += all("\(hour) p.m.", ["\(upper) in the afternoon."])
            phrases += all("\(hour):30", ["Half past \(word).", "At half past \(word)."])
            for (digits, minute) in minutes {
                phrases += all("\(hour):\(digits)", ["At \(word) \(minute).", "\(upper) \(minute)."])
            }
        }
        return phrases
    }()

    private static let dates: [AnswerPhrase] = {
        var phrases: [AnswerPhrase] = []
        for (index, ordinal) in ordinals.enumerated() {
            phrases += all("\(index + 1)", ["The \(ordinal).", "On the \(ordinal)."])
            for month in months {
                phrases += all(
                    "\(index + 1) \(month)",
                    [
                        "The \(ordinal) of \(month).", "On the \(ordinal) of \(month).", "\(month) \(ordinal).",
                        "\(month) the \(ordinal).",
                    ])
            }
        }
        for month in months { phrases += all(month, ["\(month).", "In \(month)."]) }
        return phrases
    }()
}
