import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct NumberingPlanTests {
    private let korea = NumberingPlan(home: "KR")

    @Test(arguments: [
        ("010-1234-5678", "+821012345678"), ("01012345678", "+821012345678"), ("+82 10 1234 5678", "+821012345678"),
        ("+82 (0)10-1234-5678", "+821012345678"), ("+82 010 1234 5678", "+821012345678"),
        ("00182 10 1234 5678", "+821012345678"),
        ("00700 82 10 1234 5678", "+821012345678"), ("02-555-0100", "+8225550100"), ("1588-0000", "+8215880000"),
        ("０１０－１２３４－５６７８".replacing("－", with: "-"), "+821012345678"), ("+44 (0)20 7946 0000", "+442079460000"),
        ("tel:+442079460000", "+442079460000"),
    ])
    func koreanSpellings(text: String, e164: String) { #expect(korea.e164(text) == e164) }

    @Test(arguments: [
        ("US", "(212) 555-0123", "+12125550123"), ("US", "1-212-555-0123", "+12125550123"),
        ("US", "011 44 20 7946 0000", "+442079460000"),
        ("RU", "8 (495) 123-45-67", "+74951234567"), ("DE", "030 901820", "+4930901820"),
        ("IT", "06 1234 5678", "+390612345678"),
        ("GB", "020 7946 0000", "+442079460000"), ("JP", "010 82 10 1234 5678", "+821012345678"),
    ])
    func spellingsElsewhere(home: String, text: String, e164: String) {
        #expect(NumberingPlan(home: home).e164(text) == e164)
    }

    @Test(arguments: [
        "119", "12", "call me", "+", "", "+123456789012345678", "++8210", "1234a567", "010万1234", "①②③④⑤⑥⑦百",
    ])
    func whatIsNoNumber(text: String) { #expect(korea.e164(text) == nil) }

    @Test func emergencyAndExpensiveNumbers() {
        for text in ["119", "112", "911", "02-119", "+82 2 119", "031 112"] {
            #expect(korea.isEmergency(text), "\(text)")
        }
        for text in ["02-555-0119", "1588-0119", "+82 2 555 0112"] { #expect(!korea.isEmergency(text), "\(text)") }
        for text in ["060-700-1234", "+1 900 555 0123", "+44 9098 790000", "+8816 1234 5678", "+979 1234 5678"] {
            #expect(korea.isPremium(text), "\(text)")
        }
        for text in ["010-6060-1234", "+1 212 900 5555", "+44 20 7946 0000"] {
            #expect(!korea.isPremium(text), "\(text)")
        }
    }

    @Test func aKeyIsTheSameForEverySpelling() {
        #expect(Set(["010 1234 5678", "+821012345678", "0082-10-1234-5678"].map(korea.key)).count == 1)
        #expect(korea.key("sip:Bob@127.0.0.1") == korea.key("SIP:bob@127.0.0.1"))
        #expect(korea.key("119") == "119")
    }
}

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

    @Test func ofACountryWithManyZonesAllMustBeAwake() throws {
        let hours = try #require(CallingHours("09:00-20:00"))
        let zones = NumberingPlan(home: "US").zones(of: "+12125550123")
        #expect(zones.count == 6)
        // Nine in Honolulu is two in the afternoon in New York.
        #expect(hours.next(from: try date("2026-11-20T12:00:00Z"), in: zones) == (try date("2026-11-20T19:00:00Z")))
        let never = try #require(CallingHours("09:00-10:00"))
        #expect(never.next(from: try date("2026-11-20T12:00:00Z"), in: zones) == nil)
    }
}

@Suite struct DiallingPolicyTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private var policy: DiallingPolicy {
        var policy = DiallingPolicy()
        policy.routing.gateway = .sip([.init(address: "10.1.2.3")])
        policy.homeZone = .gmt
        return policy
    }
    /// Of `call()`.
    private let route = Routing.Route.sip(.init(requestURI: "sip:01012345678@10.1.2.3", trunk: "10.1.2.3"))
    private func call(to callee: String = "01012345678") -> Call {
        Call(localNumber: "025550100", remoteNumber: callee, brief: Brief(purpose: "p", questions: []), createdAt: now)
    }

    @Test func nothingInTheWay() { #expect(policy.verdict(on: call(), history: .init(), at: now) == .dial(route)) }

    @Test func rulesForGood() {
        guard case .block(.doNotCall, _) = policy.verdict(on: call(), history: .init(isOnDoNotCallList: true), at: now)
        else {
            return #expect(Bool(false))
        }
        var narrow = policy
        narrow.routing.allowedPrefixes = ["+1"]
        guard case .block(.prefix, _) = narrow.verdict(on: call(), history: .init(), at: now) else {
            return #expect(Bool(false))
        }
        guard case .block(.premium, _) = policy.verdict(on: call(to: "0607001234"), history: .init(), at: now) else {
            return #expect(Bool(false))
        }
        guard case .block(.emergency, _) = policy.verdict(on: call(to: "119"), history: .init(), at: now) else {
            return #expect(Bool(false))
        }
    }

    @Test func rulesForAWhile() {
        var capped = policy
        capped.dailyCap = 3
        guard
            case .hold(.dailyCap, let until, _) = capped.verdict(
                on: call(), history: .init(callerDialsToday: 3), at: now)
        else {
            return #expect(Bool(false))
        }
        #expect(until == capped.dayBegins(now).addingTimeInterval(86_400))
        #expect(
            capped.verdict(on: call(), history: .init(callerDialsToday: 3, callerCap: 4), at: now) == .dial(route),
            "the number's own cap counts")
        let recently = DiallingPolicy.History(calleeDialledAt: now.addingTimeInterval(-20))
        guard case .hold(.duplicate, let later, _) = policy.verdict(on: call(), history: recently, at: now) else {
            return #expect(Bool(false))
        }
        #expect(later == now.addingTimeInterval(40))
    }

    @Test func aHoldIsNotedOnceForAsLongAsItLasts() throws {
        var call = call()
        for minute in 0..<30 {
            _ = call.hold(
                by: .callingHours, until: now.addingTimeInterval(Double(minute)), detail: "d",
                at: now.addingTimeInterval(Double(minute)))
        }
        #expect(call.blocks?.count == 1 && call.nextAttemptAt == now.addingTimeInterval(29))
        let events = try call.block(by: .doNotCall, detail: "listed", at: now)
        #expect(
            call.state == .failed && call.blocks?.map(\.rule) == [.callingHours, .doNotCall]
                && events.map(\.name) == ["outbound_failed"])
        #expect(call.failureReason?.contains("do_not_call") == true)
    }
}

@Suite struct ConditionTests {
    private func answer(_ status: Answer.Status, value: Answer.Value? = nil, text: String? = nil) -> Answer {
        var answer = Answer(questionID: "q1", status: status)
        answer.value = value
        answer.text = text
        return answer
    }
    private func tracker(_ equals: Answer.Value) -> TaskTracker {
        TaskTracker(questions: [
            Question(id: "q1", text: "First?"),
            Question(id: "q2", text: "Then?", condition: .init(question: "q1", equals: equals)),
        ])
    }

    @Test(arguments: [
        (
            Answer.Value.boolean(true),
            TaskReport.Item(id: "q1", status: .answered, answer: "Yes, I will.", value: .boolean(true)), true
        ),
        (.boolean(true), TaskReport.Item(id: "q1", status: .answered, answer: "No.", value: .boolean(false)), false),
        (.boolean(true), TaskReport.Item(id: "q1", status: .answered, answer: "Yes."), true),
        (.text("Red"), TaskReport.Item(id: "q1", status: .answered, answer: "the red one", value: .text("red")), true),
        (.number(3), TaskReport.Item(id: "q1", status: .answered, value: .number(3)), true),
        (.text("red"), TaskReport.Item(id: "q1", status: .refused), false),
        (.text("red"), TaskReport.Item(id: "q1", status: .unclear), false),
    ])
    func itIsAskedOnlyWhenItIsDue(equals: Answer.Value, given: TaskReport.Item, isDue: Bool) {
        var tracker = tracker(equals)
        #expect(tracker.nextPending?.id == "q1")
        tracker.apply(TaskReport(questions: [given]))
        #expect(tracker.nextPending?.id == (isDue ? "q2" : nil))
        #expect(tracker.isCompleted == (!isDue && given.status != "unclear"))
        tracker.close()
        #expect(tracker.answers[1].status == .notAsked)
    }
}
