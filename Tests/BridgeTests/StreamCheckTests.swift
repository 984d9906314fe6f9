import Foundation
import Net
import TestSupport
import Testing

@testable import Bridge

@Suite struct StreamCheckTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var dialect: any MediaStreamDialect.Type
        var format: WireFormat
        var testDescription: String { "\(dialect.traits.name) \(format.text)" }
    }

    static let cases = Dialects.all.flatMap { dialect in
        dialect.traits.formats.map { Case(dialect: dialect, format: $0) }
    }

    @Test(arguments: cases) func aServerThatDoesAllRightPasses(_ item: Case) throws {
        let run = try CheckRun(item.dialect)
        run.token = "right"
        run.expected = { $0 == "right" }
        if item.dialect.traits.sign != nil {
            run.secret = RuleBreakers.signingSecret
            run.isSigned = RuleBreakers.signed(item.dialect)
        }
        let report = try #require(run.report(format: item.format))
        #expect(CheckRun.failed(report) == [])
        if run.secret != nil {
            for name in ["wrong-signature", "no-signature"] {
                #expect(CheckRun.finding(name, report)?.verdict == .pass, "\(name)")
            }
        }
        var wanted = ["upgrade", "let-in", "wrong-token", "no-token", "silence", "dtmf", "carrier-ends"]
        if item.dialect.conformance.shape.text != .free { wanted.append("encoding") }
        for name in wanted {
            #expect(CheckRun.finding(name, report)?.verdict == .pass, "\(name)")
        }
        #expect(CheckRun.finding("barge-in", report)?.verdict == .pass, "\(report.facts.bargeIn)")
        let unseen = report.rows.filter { $0.finding.verdict == .notSeen }.map(\.rule.name)
        #expect(unseen.allSatisfy { ["server-ends", "digits", "digit", "xoff"].contains($0) }, "\(unseen)")
        #expect((report.facts.answerMs.first ?? 0) > 0 && report.facts.firstSoundMs != nil)
    }

    @Test func aDialectThatDeclaresNothingIsCheckedByTheCommonRules() throws {
        let run = try CheckRun(BinaryDialect.self)
        let report = try #require(run.report())
        #expect(CheckRun.failed(report) == [])
        #expect(CheckRun.finding("barge-in", report)?.verdict == .pass)
        #expect(CheckRun.finding("unknown-message", report) == nil, "no unknown message is declared")
    }

    @Test func whatOnlyTheCodecObjectsToIsFound() throws {
        let run = try CheckRun(BigEndianDialect.self)
        run.fault.atStart = { $0.say("no JSON") }
        #expect(CheckRun.failed(run.report()) == ["understood: 1 messages were not: no JSON object"])
    }

    @Test func aServerThatNeverSpeaksIsNotJudgedByWhatItWouldSay() throws {
        let run = try CheckRun(TwilioDialect.self)
        run.fault.answerFrames = 0
        let report = try #require(run.report())
        #expect(CheckRun.failed(report) == [])
        for name in ["barge-in", "encoding", "base64", "stream-id"] {
            #expect(CheckRun.finding(name, report)?.verdict == .notSeen, "\(name)")
        }
    }

    @Test func aServerThatCannotBeReachedIsNotJudged() throws {
        let run = try CheckRun(TwilioDialect.self)
        run.answer = .failed("connection refused")
        let report = try #require(run.report())
        #expect(report.facts.unreachable == "connection refused" && report.count(.notSeen) == report.rows.count)
    }

    @Test func aServerThatHangsUpByItselfIsJudgedByHowItDoesThat() throws {
        for (dialect, seen) in [(TwilioDialect.self as any MediaStreamDialect.Type, "closed with 1000")] {
            let run = try CheckRun(dialect)
            run.fault.atTick = { if $1 > 4_500 { $0.close(1_000) } }
            let finding = CheckRun.finding("server-ends", run.report())
            #expect(finding?.verdict == .pass && finding?.seen.contains(seen) == true)
        }
    }
}
