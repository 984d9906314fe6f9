import Foundation
import JSON
import Realtime
import Store
import Testing
import Tools

@testable import Calls

@Suite struct CallBackRuleTests {
    /// Tuesday, 28 July 2026, 12:00 in Seoul.
    private static let now = Date(timeIntervalSince1970: 1_785_207_600)

    private func settings(_ hours: String? = nil) -> CallSettings {
        var settings = CallSettings()
        settings.routing.gateway = .carrier("twilio")
        settings.policy.callingHours = hours.flatMap { CallingHours($0) }
        settings.policy.hoursZone = TimeZone(identifier: "Asia/Seoul")
        return settings
    }

    private func call(_ direction: CallDirection = .outbound, to number: String = "+821012345678") -> Call {
        var brief = Brief(purpose: "the dinner", questions: [Question(id: "q1", text: "?")], language: "ko")
        brief.isIncoming = direction == .inbound ? true : nil
        return Call(
            direction: direction, localNumber: "+82255501000", remoteNumber: number, brief: brief, maxDuration: 99,
            createdAt: Self.now.addingTimeInterval(-60))
    }

    private func next(_ call: Call, in seconds: Double, _ hours: String? = nil) throws -> Call {
        let wish = ToolMeans.Callback(at: Self.now.addingTimeInterval(seconds), reason: "busy now")
        return try CallBackRule(settings: settings(hours), now: Self.now).call(of: call, wish)
    }

    @Test func theSamePartyIsCalledWithTheSameBrief() throws {
        let old = call(), new = try next(old, in: 3_600)
        #expect(new.id != old.id && new.id.hasPrefix("ob-") && new.state == .queued)
        #expect(new.brief == old.brief && new.remoteNumber == old.remoteNumber)
        #expect(new.localNumber == old.localNumber)
        #expect(new.scheduledAt == Self.now.addingTimeInterval(3_600) && new.maxDuration == 99)
        let back = try next(call(.inbound), in: 3_600)
        #expect(back.direction == .outbound && back.brief.purpose == "busy now" && back.brief.isIncoming == nil)
    }

    @Test func theCallingHoursHold() throws {
        // 21:00 is after hours: the call is placed at nine the next day.
        let new = try next(call(), in: 9 * 3_600, "09:00-20:00")
        #expect(new.scheduledAt == Self.now.addingTimeInterval(21 * 3_600))
    }

    @Test func whatCannotBeIsRefused() {
        for seconds: Double in [-5, 30, 61 * 86_400] {
            #expect(throws: CallBackRule.Refusal.self) { try next(call(), in: seconds) }
        }
        #expect(throws: CallBackRule.Refusal.self) { try next(call(to: "browser:ann"), in: 3_600) }
        #expect(throws: CallBackRule.Refusal.self) { try next(call(to: "anonymous"), in: 3_600) }
    }

    @Test func aCallHasWhatItHasTheMeansFor() {
        let none = ToolMeans(of: call(), dialler: nil, carriers: Carriers(), settings: settings(), knowledge: nil)
        #expect(none.scheduleCall == nil && none.sendSMS == nil && none.search == nil)
        let values = ToolValues(of: call(.inbound), agent: "salon", settings: settings(), at: Self.now)
        #expect(values.text(["caller", "number"]) == "+821012345678" && values.text(["agent", "slug"]) == "salon")
        #expect(values.text(["call", "direction"]) == "inbound" && values.text(["today"]) == "2026-07-28")
        let outbound = ToolValues(of: call(), agent: "salon", settings: settings(), at: Self.now)
        #expect(outbound.text(["callee", "number"]) == "+821012345678")
    }
}
