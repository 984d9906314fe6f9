import ArgumentParser
import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge
@testable import trunkline

/// What `trunkline stream` makes of its arguments, and of a report.
@Suite struct StreamCommandTests {
    private static let url = "ws://127.0.0.1:1/media?sample-rate=16000"

    private func plan(_ arguments: String...) throws -> CheckPlan {
        let command = try StreamCheckCommand.parse([Self.url] + arguments)
        return try command.plan(
            StreamCommand.dialect(command.dialect), #require(WebSocketURL(Self.url)))
    }

    @Test func argumentsBecomeAPlan() throws {
        let plan = try plan(
            "--dialect", "exotel", "--token", "t", "--header", "X-A:  b: c", "--parameter", "k=v=w", "--format",
            "L16/16000", "--seconds", "7")
        #expect(plan.dialect == ExotelDialect.self && plan.token == "t" && plan.limitMs == 7_000)
        #expect(plan.headers.map(\.name) == ["X-A"] && plan.headers.map(\.value) == ["b: c"])
        #expect(plan.parameters == ["k": "v=w"] && plan.format?.text == "l16/16000" && plan.announced == "l16/16000")
        #expect(plan.query.map(\.name) == ["sample-rate"] && plan.query.map(\.value) == ["16000"])
        #expect(plan.speech.count > 50 && plan.speech.contains { $0.peak > 5_000 })
    }

    @Test func whatAServerAsksForBesideTheTokenIsInThePlan() throws {
        let bearer = try plan("--dialect", "signalwire", "--bearer", "abc")
        #expect(bearer.headers.map(\.value) == ["Bearer abc"] && bearer.secret == nil)
        let basic = try plan("--dialect", "jambonz", "--basic", "user:pass word")
        #expect(basic.headers.map(\.value) == ["Basic dXNlcjpwYXNzIHdvcmQ="])
        let signed = try plan("--dialect", "twilio", "--secret", "12345", "--signed-url", "wss://voice.example.com/a")
        #expect(signed.secret == "12345" && signed.url?.host == "voice.example.com")
        let genesys = try plan("--dialect", "genesys", "--secret", "YWJj", "--token", "an-api-key")
        #expect(genesys.secret == "YWJj" && genesys.url?.port == 1)
    }

    @Test(arguments: [
        ["--dialect", "vonage", "--secret", "s"], ["--dialect", "genesys", "--secret", "YWJj"],
        ["--dialect", "genesys", "--token", "k", "--secret", "no base64"],
        ["--dialect", "twilio", "--secret", "s", "--signed-url", "https://voice.example.com"],
        ["--dialect", "twilio", "--basic", "user"], ["--dialect", "twilio", "--bearer", "a b"],
        ["--dialect", "twilio", "--bearer", "a", "--basic", "b:c"], ["--dialect", "twilio", "--token", "a\r\nb"],
        ["--dialect", "nobodys"], ["--dialect", "twilio", "--format", "l16/8000"],
        ["--dialect", "twilio", "--seconds", "601"], ["--dialect", "twilio", "--header", ": x"],
        ["--dialect", "twilio", "--header", "a: b\r\nc: d"], ["--dialect", "twilio", "--parameter", "=x"],
    ])
    func whatCannotBeRunExitsWith2(_ arguments: [String]) throws {
        let command = try StreamCheckCommand.parse([Self.url] + arguments)
        #expect(throws: ExitCode(2)) {
            try command.plan(StreamCommand.dialect(command.dialect), #require(WebSocketURL(Self.url)))
        }
    }

    private static let report: CheckReport = {
        let rules = ["a-rule", "another"].map { name in
            ConformanceRule.message(name, "It is so.", "https://example.com/\(name)") { _, _ in .other }
        }
        var facts = StreamFacts()
        facts.startedMs = 200
        facts.upgradeMs = 3
        facts.bargeIn = .cleared(afterMs: 40)
        return CheckReport(
            rows: [
                CheckReport.Row(rule: rules[0], finding: .fail("message 1 is not")),
                CheckReport.Row(rule: rules[1], finding: .notSeen("there was none")),
            ], facts: facts)
    }()

    @Test func aReportIsPrintedWithRulesAndSources() {
        #expect(
            CheckText.plain(Self.report) == """
                FAIL      a-rule              message 1 is not
                          rule:   It is so.
                          source: https://example.com/a-rule
                not seen  another             there was none
                          rule:   It is so.
                          source: https://example.com/another
                figure    upgrade: 3 ms
                figure    clear after speech: 40 ms
                0 passed, 1 failed, 1 not seen

                """)
        #expect(Self.report.only("another").rows.map(\.rule.name) == ["another"])
    }

    @Test func aReportIsJSON() throws {
        let text = CheckText.json(Self.report, dialect: "twilio", format: "mulaw/8000")
        let object = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(object["failed"] as? Int == 1 && object["not_seen"] as? Int == 1 && object["passed"] as? Int == 0)
        let rules = try #require(object["rules"] as? [[String: Any]])
        #expect(rules.map { $0["verdict"] as? String } == ["fail", "not_seen"])
    }

    @Test func aTapPassesOnWhatIsNotOfTheConnection() {
        let request = HTTPRequest(
            method: "GET", path: "/x", query: [("a", "1")],
            headers: [
                "host": "h", "connection": "Upgrade, X-Hop", "x-hop": "1", "upgrade": "websocket", "x-own": "yes",
                "sec-websocket-key": "k", "sec-websocket-protocol": "one, two", "authorization": "Bearer b",
            ])
        let attempt = StreamTap.attempt(request)
        #expect(attempt.headers.map(\.name) == ["authorization", "x-own"])
        #expect(attempt.subprotocols == ["one", "two"] && attempt.query.map(\.name) == ["a"])
    }

    @Test(arguments: [(1_000, 1_000), (1_005, 1_000), (1_006, 1_011), (4_001, 4_001), (1_015, 1_011), (9, 1_011)])
    func closeCodesArePassedOnWhereTheyMayBe(came: Int, goes: UInt16) {
        #expect(TappedStream.passed(came) == goes)
    }
}
