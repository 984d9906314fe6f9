internal import Foundation

/// RFC 3339 times, the one way in which times come in and go out.
enum Timestamp {
    /// Characters of a time; with an offset and nanoseconds it has 35.
    static let lengthLimit = 64
    /// One as it may be sent.
    static let example = "2026-11-21T09:30:00+09:00"
    /// Digits of a fraction of a second that count; more are dropped.
    private static let fractionDigits = 9

    /// A `date-time` of RFC 3339 §5.6: `2026-11-21T09:30:00.25+09:00`, `t` and `z` too. nil for everything else: dates
    /// and clock times that there are not, offsets without minutes, times without an offset.
    ///
    /// A leap second (§5.7) is taken where there may be one, at 23:59:60 UTC on 30 June and 31 December, and means the
    /// second after it, as it does to every clock we compare it with. `-00:00` (§4.3) is UTC. What is before the year 0
    /// or after 9999 in UTC cannot be written, so it is nil.
    static func parse(_ text: String) -> Date? {
        guard text.utf8.count <= lengthLimit else { return nil }
        var reader = Reader(rest: Array(text.utf8)[...])
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2),
            reader.take("T") || reader.take("t"), let hour = reader.number(2), reader.take(":"),
            let minute = reader.number(2), reader.take(":"),
            let second = reader.number(2), let fraction = reader.fraction(), let offset = reader.offset(),
            reader.rest.isEmpty,
            (1...12).contains(month), (1...daysIn(month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let minutes = days(year, month, day) * 1_440 + hour * 60 + minute - offset
        guard (firstMinute...lastMinute).contains(minutes) else { return nil }
        if second == 60 {
            // The minute after it begins July or January.
            let next = minutes + 1
            let isPossible = (year - 1...year + 1).contains {
                [days($0, 7, 1), days($0, 1, 1)].contains { $0 * 1_440 == next }
            }
            return isPossible && next <= lastMinute ? Date(timeIntervalSince1970: Double(next * 60)) : nil
        }
        return Date(timeIntervalSince1970: Double(minutes * 60 + second) + fraction)
    }

    /// With milliseconds, in UTC. The system's own would count in the Julian calendar before 1582.
    static func text(_ date: Date) -> String {
        let first = Double(firstMinute) * 60_000, last = Double(lastMinute) * 60_000 + 59_999
        let milliseconds = Int(min(max((date.timeIntervalSince1970 * 1_000).rounded(), first), last))
        let day = milliseconds >= 0 ? milliseconds / dayLength : (milliseconds + 1) / dayLength - 1
        let (year, month, dayOfMonth) = civil(day), inDay = milliseconds - day * dayLength
        return digits(year, 4) + "-" + digits(month, 2) + "-" + digits(dayOfMonth, 2) + "T"
            + digits(inDay / 3_600_000, 2) + ":" + digits(inDay / 60_000 % 60, 2) + ":"
            + digits(inDay / 1_000 % 60, 2) + "." + digits(inDay % 1_000, 3) + "Z"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }

    // MARK: The calendar (Gregorian, also before its time: ISO 8601 §4.2.1)

    private static let firstMinute = days(0, 1, 1) * 1_440
    private static let lastMinute = days(9_999, 12, 31) * 1_440 + 1_439

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func daysIn(_ month: Int, of year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1 January 1970 of a day of the years -1 to 10000.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Every 400 years the calendar repeats: a year later in that, nothing is negative.
        let before = year + 399
        let leapDays = before / 4 - before / 100 + before / 400
        let inYear = (1..<month).reduce(0) { $0 + daysIn($1, of: year) }
        return year * 365 + leapDays + inYear + day - 1 - daysTo1970
    }
    /// What `days` counts to 1 January 1970 without it: 1970 years, and the leap days of the 2369 before.
    private static let daysTo1970 = 1_970 * 365 + 2_369 / 4 - 2_369 / 100 + 2_369 / 400

    /// Milliseconds.
    private static let dayLength = 86_400_000

    /// The day that is so many days after 1 January 1970; in years that begin with March, as leap days are then last.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        // 400 years later, nothing is negative; 1 March of the year 0 is 719468 days before 1970.
        let sinceMarch = days + 719_468 + 146_097
        let cycle = sinceMarch / 146_097, inCycle = sinceMarch % 146_097
        let yearOfCycle = (inCycle - inCycle / 1_460 + inCycle / 36_524 - inCycle / 146_096) / 365
        let inYear = inCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * inYear + 2) / 153
        let isNextYear = monthFromMarch >= 10
        return (
            cycle * 400 - 400 + yearOfCycle + (isNextYear ? 1 : 0), monthFromMarch + (isNextYear ? -9 : 3),
            inYear - (153 * monthFromMarch + 2) / 5 + 1
        )
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        /// Exactly so many digits.
        mutating func number(_ count: Int) -> Int? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
            rest.removeFirst(count)
            return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        }

        /// Seconds; 0 where there is no fraction, nil where no digit is behind the point.
        mutating func fraction() -> Double? {
            guard take(".") else { return 0 }
            let digits = rest.prefix { (48...57).contains($0) }
            guard !digits.isEmpty else { return nil }
            rest.removeFirst(digits.count)
            var value = 0.0, place = 1.0
            for digit in digits.prefix(fractionDigits) {
                value = value * 10 + Double(digit - 48)
                place *= 10
            }
            return value / place
        }

        /// Minutes east of UTC.
        mutating func offset() -> Int? {
            if take("Z") || take("z") { return 0 }
            let isWest = take("-")
            guard isWest || take("+"), let hours = number(2), take(":"), let minutes = number(2), hours < 24,
                minutes < 60
            else { return nil }
            return (hours * 60 + minutes) * (isWest ? -1 : 1)
        }
    }
}
