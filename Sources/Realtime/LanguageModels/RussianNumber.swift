/// Russian numbers, 0–999, in the forms in which they are said.
enum RussianNumber {
    private static let values: [String: Int] = {
        let forms: [(Int, String)] = [
            (0, "ноль нуль"), (1, "один одна одно одного одной"), (2, "два две двое двух двоих"),
            (3, "три трое трёх трех троих"), (4, "четыре четверо четырёх четырех четверых"),
            (5, "пять пятеро пяти пятерых"), (6, "шесть шестеро шести"), (7, "семь семеро семи"), (8, "восемь восьми"),
            (9, "девять девяти"), (10, "десять десяти"), (11, "одиннадцать одиннадцати"),
            (12, "двенадцать двенадцати"), (13, "тринадцать"), (14, "четырнадцать"), (15, "пятнадцать"),
            (16, "шестнадцать"), (17, "семнадцать"), (18, "восемнадцать"), (19, "девятнадцать"), (20, "двадцать"),
            (30, "тридцать"), (40, "сорок"), (50, "пятьдесят"), (60, "шестьдесят"), (70, "семьдесят"),
            (80, "восемьдесят"), (90, "девяносто"), (100, "сто"), (200, "двести"), (300, "триста"),
            (400, "четыреста"), (500, "пятьсот"), (600, "шестьсот"), (700, "семьсот"), (800, "восемьсот"),
            (900, "девятьсот"),
        ]
        return forms.reduce(into: [:]) { values, form in
            for word in form.1.split(separator: " ") { values[String(word)] = form.0 }
        }
    }()

    /// The first number in the words.
    static func first(in words: [String]) -> Double? {
        var total = 0, room = 1_000, isFound = false
        for word in words {
            guard let value = values[word] else {
                if isFound { break }
                continue
            }
            // "двадцать пять" is one number, "пять двадцать" two: the first counts.
            guard value < room else { break }
            total += value
            room = value >= 100 ? 100 : value >= 20 ? 10 : 0
            isFound = true
        }
        return isFound ? Double(total) : nil
    }
}
