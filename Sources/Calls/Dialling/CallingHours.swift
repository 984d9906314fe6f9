public import Foundation

/// When people may be called, in their own time: `09:00-20:00` on some days of the week.
public struct CallingHours: Sendable, Equatable {
    /// Days looked ahead for the next opening: two weeks hold every weekday and every change of the clock.
    private static let horizonDays = 15
    /// Minutes in which the opening is searched.
    private static let stepMinutes = 5

    /// Minutes since midnight; `closes` may be 1440.
    public var opens: Int
    public var closes: Int
    /// 1: Sunday … 7: Saturday, as `Calendar` counts.
    public var weekdays: Set<Int>

    private static let dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    public init(opens: Int, closes: Int, weekdays: Set<Int> = Set(1...7)) {
        self.opens = opens
        self.closes = closes
        self.weekdays = weekdays
    }

    /// - Parameter text: `09:00-20:00`, `mon-fri 09:00-20:00` or `mon,wed,sat 10:00-18:00`; nil if it is none.
    public init?(_ text: String) {
        let parts = text.lowercased().split(separator: " ")
        guard let hours = parts.last, parts.count <= 2 else { return nil }
        let ends = hours.split(separator: "-").compactMap { Self.minutes($0) }
        guard ends.count == 2, ends[0] < ends[1] else { return nil }
        var weekdays = Set(1...7)
        if parts.count == 2 {
            weekdays = []
            for item in parts[0].split(separator: ",") {
                let days = item.split(separator: "-").compactMap { name in Self.dayNames.firstIndex(of: String(name)) }
                guard days.count == item.split(separator: "-").count, let first = days.first, let last = days.last,
                    days.count <= 2
                else {
                    return nil
                }
                var day = first
                weekdays.insert(day + 1)
                while day != last {
                    day = (day + 1) % 7
                    weekdays.insert(day + 1)
                }
            }
            guard !weekdays.isEmpty else { return nil }
        }
        self.init(opens: ends[0], closes: ends[1], weekdays: weekdays)
    }

    private static func minutes(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":")
        guard parts.count == 2, parts[1].count == 2, let hour = Int(parts[0]), let minute = Int(parts[1]),
            (0...24).contains(hour),
            (0...59).contains(minute), hour * 60 + minute <= 1_440
        else { return nil }
        return hour * 60 + minute
    }

    public func isOpen(at date: Date, in zone: TimeZone) -> Bool {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let parts = calendar.dateComponents([.weekday, .hour, .minute], from: date)
        guard let weekday = parts.weekday, let hour = parts.hour, let minute = parts.minute else { return false }
        let now = hour * 60 + minute
        return weekdays.contains(weekday) && now >= opens && now < closes
    }

    /// The first time from `date` on at which it is open in all of these zones; nil: never within two weeks.
    public func next(from date: Date, in zones: [TimeZone]) -> Date? {
        func isOpen(_ date: Date) -> Bool { zones.allSatisfy { self.isOpen(at: date, in: $0) } }
        if isOpen(date) { return date }
        // Every zone's clock shows whole multiples of five minutes at the same moments.
        let step = Double(Self.stepMinutes * 60)
        var candidate = Date(timeIntervalSince1970: (date.timeIntervalSince1970 / step).rounded(.down) * step + step)
        for _ in 0..<(Self.horizonDays * 24 * 60 / Self.stepMinutes) {
            if isOpen(candidate) { return candidate }
            candidate += step
        }
        return nil
    }
}
