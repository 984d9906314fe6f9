import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct CallingHoursTests {
    private func date(_ text: String) throws -> Date { try Date(text, strategy: .iso8601) }
    private func zone(_ name: String) throws -> TimeZone { try #require(TimeZone(identifier: name)) }

    @Test func texts() throws {
        #expect(CallingHours("09:00-20:00") == CallingHours(opens: 540, closes: 1_200))
        #expect(
            CallingHours("mon-fri 09:30-18:00") == CallingHours(opens: 570, closes: 1_080, weekdays: [2, 3, 4, 5, 6]))
        #expect(
            CallingHours("fri-mon 10:00-24:00")?.weekdays == [6, 7, 1, 2]
                && CallingHours("sat,sun 10:00-12:00")?.weekdays == [7, 1])
        for text in [
            "", "9-17", "20:00-09:00", "09:00", "mon 25:00-26:00", "someday 09:00-10:00", "09:00-09:00",
            "mon-tue-wed 09:00-10:00",
        ] {
            #expect(CallingHours(text) == nil, "\(text)")
        }
    }

    @Test func theNextOpeningIsInTheCalleesTime() throws {
        let hours = try #require(CallingHours("mon-fri 09:00-20:00"))
        let seoul = try zone("Asia/Seoul")
        // Friday 21:00 in Seoul: Monday morning.
        #expect(hours.next(from: try date("2026-11-20T12:00:00Z"), in: [seoul]) == (try date("2026-11-23T00:00:00Z")))
        let now = try date("2026-11-20T05:03:17Z")
        #expect(hours.next(from: now, in: [seoul]) == now)
    }

    @Test func theyFollowTheClockThatIsPutForward() throws {
        let hours = try #require(CallingHours("09:00-20:00"))
        let berlin = try zone("Europe/Berlin")
        // 29 March 2026: 09:00 there is 07:00 UTC, the day before it was 08:00.
        #expect(hours.next(from: try date("2026-03-28T03:00:00Z"), in: [berlin]) == (try date("2026-03-28T08:00:00Z")))
        #expect(hours.next(from: try date("2026-03-29T03:00:00Z"), in: [berlin]) == (try date("2026-03-29T07:00:00Z")))
    }

    @Test func callingHoursHoldInEveryZoneOfACountry() throws {
        let hours = try #require(CallingHours("09:00-20:00"))
        let zones = NumberingPlan(home: "US").zones(of: "+12125550123")
        #expect(zones.count == 6)
        // Nine in Honolulu is two in the afternoon in New York.
        #expect(hours.next(from: try date("2026-11-20T12:00:00Z"), in: zones) == (try date("2026-11-20T19:00:00Z")))
        let never = try #require(CallingHours("09:00-10:00"))
        #expect(never.next(from: try date("2026-11-20T12:00:00Z"), in: zones) == nil)
    }
}
