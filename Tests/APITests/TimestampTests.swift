import Foundation
import Testing

@testable import API

/// RFC 3339 §5.6, §5.7 and §5.8.
@Suite struct TimestampTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0.0), ("1985-04-12T23:20:50.52Z", 482_196_050.52),
        ("1996-12-19T16:39:57-08:00", 851_042_397),
        ("1937-01-01T12:00:27.87+00:20", -1_041_337_172.13), ("2026-11-21T09:30:00+09:00", 1_795_221_000),
        ("2026-11-21t00:30:00z", 1_795_221_000),
        ("2026-11-21T00:30:00-00:00", 1_795_221_000), ("2026-11-21T00:30:00+00:00", 1_795_221_000),
        ("2026-11-21T00:30:00.000000000000000000Z", 1_795_221_000),
        ("2026-11-22T00:29:00+23:59", 1_795_221_000), ("2026-11-20T00:31:00-23:59", 1_795_221_000),
        ("2028-02-29T00:00:00Z", 1_835_395_200),
        ("2000-02-29T00:00:00Z", 951_782_400), ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("0000-02-29T00:00:00Z", -62_162_121_600),
        ("9999-12-31T23:59:59Z", 253_402_300_799), ("9999-12-31T23:59:59+00:01", 253_402_300_739),
        ("1969-12-31T23:59:59.5Z", -0.5),
    ])
    func times(text: String, seconds: Double) throws {
        let date = try #require(Timestamp.parse(text))
        #expect(abs(date.timeIntervalSince1970 - seconds) < 1e-4, "\(date.timeIntervalSince1970)")
    }

    /// §5.7: where there may be one, and nowhere else.
    @Test(arguments: [
        ("1990-12-31T23:59:60Z", "1991-01-01T00:00:00Z"), ("1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00Z"),
        ("2012-06-30T23:59:60Z", "2012-07-01T00:00:00Z"), ("2012-07-01T08:59:60.5+09:00", "2012-07-01T00:00:00Z"),
        ("2027-01-01T08:59:60+09:00", "2027-01-01T00:00:00Z"), ("1969-12-31T23:59:60Z", "1970-01-01T00:00:00Z"),
        ("0000-06-30T23:59:60Z", "0000-07-01T00:00:00Z"), ("1960-06-30T23:59:60Z", "1960-07-01T00:00:00Z"),
    ])
    func leapSeconds(text: String, next: String) {
        #expect(Timestamp.parse(text) != nil && Timestamp.parse(text) == Timestamp.parse(next))
    }

    @Test(arguments: [
        "2030-02-30T10:00:00Z", "2030-02-29T10:00:00Z", "2100-02-29T10:00:00Z", "2030-04-31T10:00:00Z",
        "2030-00-10T10:00:00Z", "2030-13-10T10:00:00Z",
        "2030-01-00T10:00:00Z", "2030-01-32T10:00:00Z", "2030-01-01T25:00:00Z", "2030-01-01T24:00:00Z",
        "2030-01-01T10:60:00Z", "2030-01-01T10:00:61Z",
        "2030-01-01T10:00:60Z", "2030-06-30T23:59:60+01:00", "2030-03-31T23:59:60Z", "9999-12-31T23:59:60Z",
        "99999-01-01T00:00:00Z", "999-01-01T00:00:00Z",
        "+2030-01-01T00:00:00Z", "-030-01-01T00:00:00Z", "2030-01-01T10:00:00+09", "2030-01-01T10:00:00+0900",
        "2030-01-01T10:00:00+9:00",
        "2030-01-01T10:00:00+24:00", "2030-01-01T10:00:00+09:60", "2030-01-01T10:00:00", "2030-01-01T10:00Z",
        "2030-01-01", "2030-1-1T10:00:00Z",
        "2030-01-01T1:00:00Z", "20300101T100000Z", "2030-01-01 10:00:00Z", "2030-01-01T10:00:00.Z",
        "2030-01-01T10:00:00,5Z", "2030-01-01T10:00:00 Z",
        "2030-01-01T10:00:00Z ", " 2030-01-01T10:00:00Z", "2030-01-01T10:00:00ZZ", "2030-01-01T10:00:00Z+09:00",
        "2030-W01-1T10:00:00Z", "2030-001T10:00:00Z",
        "２０３０-01-01T10:00:00Z", "2030-01-01T10:00:00Ｚ", "2030-01-01T10:00:00−09:00", "", "Z", "now", "1700000000",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "2030-01-01T10:00:00.\(String(repeating: "0", count: 60))Z",
        "2030-01-01T10:00:00\u{0}Z", "2030/01/01T10:00:00Z",
    ])
    func malformedTimesAreNil(text: String) { #expect(Timestamp.parse(text) == nil) }

    /// Against the system's calendar, over all years and every kind of day.
    @Test func datesAgreeWithTheSystemCalendar() throws {
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        for year in stride(from: 1, through: 9_999, by: 7) {
            for (month, day) in [(1, 1), (2, 28), (3, 1), (6, 30), (12, 31)] {
                let text = String(format: "%04d-%02d-%02dT12:34:56Z", year, month, day)
                let date = try #require(Timestamp.parse(text))
                #expect(Timestamp.text(date) == text.dropLast() + ".000Z")
                // Before 1582 the system's counts Julian days.
                guard year > 1_582 else { continue }
                let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
                #expect(
                    parts.year == year && parts.month == month && parts.day == day && parts.hour == 12
                        && parts.second == 56, "\(text)")
            }
        }
    }

    @Test func writtenTimesParseBack() throws {
        for text in [
            "2026-11-21T09:30:00.250Z", "9999-12-31T23:59:59.000Z", "1970-01-01T00:00:00.000Z",
            "0000-01-01T00:00:00.000Z", "0000-02-29T23:59:59.999Z", "1582-10-10T12:00:00.000Z",
            "1969-12-31T23:59:59.999Z",
        ] {
            #expect(Timestamp.text(try #require(Timestamp.parse(text))) == text)
        }
    }
}
