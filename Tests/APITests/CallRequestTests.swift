import Bridge
import Calls
import Delivery
import Foundation
import JSON
import Net
import Problems
import Realtime
import Store
import Testing

@testable import API

@Suite struct CallRequestTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static let good =
        #""caller_number":"025550100","callee_number":"sip:bob@127.0.0.1:5090","purpose":"to ask","#
        + #""questions":["Will you come?"]"#

    private func parse(_ members: String, settings: CallSettings = CallSettings()) throws(APIError) -> CallRequest {
        try CallRequest(
            Array("{\(members)}".utf8), settings: settings, webhooks: .init(secret: .random()), requestedBy: "t",
            now: now)
    }
    private func fields(_ members: String) -> [String] {
        do throws(APIError) { _ = try parse(members) } catch { return error.errors.map(\.field) }
        return []
    }

    @Test func defaultsAreThoseOfTheContract() throws {
        let call = try parse(Self.good).call
        #expect(
            call.maxDuration == 180 && call.priority == 5 && call.maxRetries == 2 && call.retryOnNoAnswer
                && call.state == .queued)
        #expect(call.id.count == 11 && call.brief.questions.map(\.id) == ["q1"])
    }
    @Test func everyBadFieldIsNamed() {
        #expect(fields("") == ["caller_number", "callee_number", "purpose", "questions"])
        #expect(
            fields(
                #""caller_number":"x","callee_number":5,"purpose":"  ","questions":[],"priority":11,"#
                    + #""max_duration":"long","extra":1,"scheduled_at":"2020-01-01T00:00:00Z","language":"e","#
                    + #""metadata":[]"#
            ).sorted()
                == [
                    "callee_number", "caller_number", "extra", "language", "max_duration", "metadata", "priority",
                    "purpose", "questions",
                    "scheduled_at",
                ])
    }
    @Test(arguments: [
        (#""questions":[]"#, "questions"), (#""questions":["a",""]"#, "questions[1]"),
        (#""questions":[{"text":"a","type":"x"}]"#, "questions[0].type"),
        (#""questions":[{"text":"a","type":"choice"}]"#, "questions[0].choices"),
        (#""questions":[{"text":"a","ask_if":{"equals":1}}]"#, "questions[0].ask_if.question"),
        (#""questions":[7]"#, "questions[0]"), (#""questions":"a""#, "questions"), (#""agent":"x""#, "agent"),
        (#""webhook_url":"http://x.example""#, "webhook_url"),
        (#""max_duration":9"#, "max_duration"), (#""priority":1.5"#, "priority"),
        (#""retry_on_no_answer":"yes""#, "retry_on_no_answer"),
        (#""scheduled_at":"2027-02-01 10:00""#, "scheduled_at"),
        (#""callee_number":"browser:somebody""#, "callee_number"),
    ])
    func oneBadFieldIsNamed(member: String, field: String) {
        let name = String(member.dropFirst().prefix { $0 != "\"" })
        let rest = Self.good.components(separatedBy: ",\"").map { $0.hasPrefix("\"") ? $0 : "\"" + $0 }.filter {
            !$0.hasPrefix("\"\(name)\"")
        }
        #expect(fields((rest + [member]).joined(separator: ",")) == [field])
    }
    @Test func twentyOneQuestionsAreTooMany() {
        let many = "[" + (0..<21).map { _ in "\"q\"" }.joined(separator: ",") + "]"
        #expect(
            fields(
                #""caller_number":"025550100","callee_number":"sip:bob@127.0.0.1","purpose":"p","questions":"# + many)
                == ["questions"])
    }
    @Test func refusalsHaveTheirCodes() throws {
        func error(_ members: String, _ settings: CallSettings = CallSettings()) -> APIError? {
            do throws(APIError) { _ = try parse(members, settings: settings) } catch { return error }
            return nil
        }
        #expect(error(Self.good.replacing("127.0.0.1:5090", with: "example.org"))?.code == "no_route")
        #expect(error(Self.good + #","agent":"a""#)?.code == "invalid")
        var strict = CallSettings()
        strict.routing.allowedCallers = ["999999"]
        // It may be one of the stored numbers: the route decides.
        #expect(try parse(Self.good, settings: strict).notAllowed?.code == .callerNotAllowed)
        let twice = error(Self.good + #","purpose":"again""#)
        #expect(twice?.status == 422)
        let past = error(Self.good + #","scheduled_at":"2020-01-01T00:00:00Z""#)?.errors.first
        #expect(past?.problem == Problem(.inThePast) && past?.message == "lies in the past")
    }
    @Test func aLongDurationIsLoweredAndSaidSo() throws {
        let request = try parse(Self.good + #","max_duration":3600"#)
        #expect(request.call.maxDuration == 300 && request.warnings.map(\.code) == [.durationLowered])
    }
    /// The forms say of each language what a request would be warned of.
    @Test(arguments: [
        (LanguageSupport.understood, nil), (.keypad, ProblemCode.answersByKeypad), (.silent, .languageNotSpoken),
    ])
    func aLanguageIsWarnedOfWhereverItIsChosen(support: LanguageSupport, code: ProblemCode?) throws {
        var settings = CallSettings()
        settings.language = "ru"
        settings.support = { $0 == "en" ? .understood : support }
        for form in [CallRequest.form, TemplateRoutes.form] {
            guard case .object(let noted)? = form.notes(settings)["language"]?["x-warnings"] else {
                Issue.record("nothing is said of languages")
                return
            }
            for language in ["en", "ko", "ru"] {
                let warnings = try parse(Self.good + #","language":"\#(language)""#, settings: settings).warnings
                #expect(warnings.map(\.code) == (language == "en" ? [] : [code].compactMap(\.self)))
                #expect(warnings.map { JSONValue.object($0.json) } == [noted[language]].compactMap(\.self))
            }
            // Without a language the server's counts.
            #expect(try parse(Self.good, settings: settings).warnings.first?.code == code)
            #expect(form.defaults(settings)["language"] == "ru")
        }
    }
}
