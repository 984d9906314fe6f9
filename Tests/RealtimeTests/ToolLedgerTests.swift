import Foundation
import Testing

@testable import Realtime

/// The bounds of tool calls, and the consent of the other party.
@Suite struct ToolLedgerTests {
    private func tool(_ name: String, consent: Bool = false, limit: Int = 10) -> CallTool {
        CallTool(
            name: name, purpose: "Looks \(name) up.", parameters: #"{"type":"object"}"#,
            speech: .init(before: "Let me look.", texts: ["One moment.", "Still looking."]), needsConsent: consent,
            limit: limit)
    }

    private func request(_ name: String, _ arguments: String = "{}") -> ToolLedger.Request {
        ToolLedger.Request(name: name, arguments: arguments, id: "id")
    }

    @Test func aToolIsCalledAsOftenAsItsLimitSays() {
        var ledger = ToolLedger([tool("a", limit: 2)])
        for number in 1...2 {
            ledger.callerSpoke()
            let call = ToolCall(number: number, name: "a", arguments: "{}")
            let verdicts = ledger.settle([request("a")], hasSpoken: false, at: 0)
            #expect(verdicts == [.run(call)])
            ledger.finish(number, ToolResult(output: "{}"))
        }
        ledger.callerSpoke()
        guard case .refuse(let call, let result)? = ledger.settle([request("a")], hasSpoken: false, at: 0).first else {
            Issue.record("called once too often")
            return
        }
        #expect(call.number == 3 && result.status == "refused" && result.attempts == 0)
        #expect(ledger.isDue, "the model is told")
    }

    @Test func fourWorkAtOnceAndTheFifthIsRefused() {
        var ledger = ToolLedger([tool("a")])
        let requests = (1...5).map { request("a", #"{"n":\#($0)}"#) }
        let verdicts = ledger.settle(requests, hasSpoken: false, at: 0)
        #expect(verdicts.count { if case .run = $0 { true } else { false } } == ToolLedger.runningLimit)
        guard case .refuse? = verdicts.last else {
            Issue.record("\(verdicts)")
            return
        }
        #expect(!ledger.isDue, "calls of one response are told together")
        for number in 1...4 { ledger.finish(number, ToolResult(output: "{}")) }
        #expect(ledger.isDue)
        let taken = ledger.take(isAll: false)
        #expect(taken.count == 5)
    }

    @Test func theSameCallIsNotMadeTwiceAtOnce() {
        var ledger = ToolLedger([tool("a")])
        _ = ledger.settle([request("a")], hasSpoken: false, at: 0)
        let again = ledger.settle([request("a")], hasSpoken: false, at: 0)
        #expect(again == [.again(id: "id")])
        #expect(ledger.entries.count == 1)
    }

    @Test func argumentsThatAreTooLongNeverLeave() {
        var ledger = ToolLedger([tool("a")])
        let text = String(repeating: "x", count: ToolLedger.argumentsLimit + 1)
        guard case .refuse(let call, let result)? = ledger.settle([request("a", text)], hasSpoken: false, at: 0).first
        else {
            Issue.record("not refused")
            return
        }
        #expect(result.status == "invalid_arguments" && call.arguments == "{}")
    }

    @Test func aModelThatOnlyCallsToolsIsStopped() {
        var ledger = ToolLedger([tool("a", limit: 1_000)])
        var verdicts: [ToolLedger.Verdict] = []
        for round in 1...10 {
            verdicts += ledger.settle([request("a", #"{"n":\#(round)}"#)], hasSpoken: false, at: 0)
            ledger.finish(round, ToolResult(output: "{}"))
            _ = ledger.take(isAll: true)
        }
        #expect(verdicts.count { if case .run = $0 { true } else { false } } == ToolLedger.roundLimit)
        #expect(verdicts.dropFirst(ToolLedger.roundLimit).allSatisfy { if case .drop = $0 { true } else { false } })
        #expect(!ledger.isOffering && ledger.open == 0)
        ledger.callerSpoke()
        #expect(ledger.isOffering)
    }

    @Test func noMoreThanFiftyCallsInACall() {
        var ledger = ToolLedger([tool("a", limit: 1_000)])
        for number in 1...60 {
            ledger.callerSpoke()
            _ = ledger.settle([request("a", #"{"n":\#(number)}"#)], hasSpoken: false, at: 0)
            ledger.finish(number, ToolResult(output: "{}"))
            _ = ledger.take(isAll: true)
        }
        #expect(ledger.entries.count == ToolLedger.callLimit && !ledger.isOffering)
    }

    @Test func wordsMeanwhileComeInTheirTimeAndOneAfterTheOther() {
        var ledger = ToolLedger([tool("a")])
        _ = ledger.settle([request("a")], hasSpoken: false, at: 1_000)
        let first = ledger.firstWords()
        let second = ledger.firstWords()
        #expect(first == "Let me look." && second == nil)
        let early = ledger.waitingWords(at: 2_480)
        #expect(early == nil)
        let one = ledger.waitingWords(at: 2_500)
        #expect(one == "One moment.")
        let next = ledger.waitingWords(at: 8_480)
        #expect(next == nil)
        ledger.postpone(at: 8_480)
        let pushed = ledger.waitingWords(at: 8_500)
        #expect(pushed == nil, "somebody spoke a moment ago")
        let two = ledger.waitingWords(at: 9_980)
        #expect(two == "Still looking.")
        let three = ledger.waitingWords(at: 15_980)
        #expect(three == "One moment.")
        ledger.finish(1, ToolResult(output: "{}"))
        let none = ledger.waitingWords(at: 30_000)
        #expect(none == nil)
    }

    @Test func aToolThatNeverComesBackIsGivenUp() {
        var ledger = ToolLedger([tool("a")])
        _ = ledger.settle([request("a")], hasSpoken: false, at: 1_000)
        let none = ledger.giveUp(at: 1_000 + ToolLedger.timeLimitMs - 1)
        #expect(none.isEmpty)
        let given = ledger.giveUp(at: 1_000 + ToolLedger.timeLimitMs)
        #expect(given.map(\.number) == [1])
        let told = ledger.take(isAll: false)
        #expect(told.first?.result.status == "timeout")
        let late = ledger.finish(1, ToolResult(output: "late"))
        #expect(late == nil)
    }

    @Test func aResultIsCutAtItsLimit() {
        var ledger = ToolLedger([tool("a")])
        _ = ledger.settle([request("a")], hasSpoken: false, at: 0)
        ledger.finish(1, ToolResult(output: String(repeating: "я", count: 10_000)))
        let output = ledger.take(isAll: false).first?.result.output
        #expect(output?.count == ToolResult.limit + "…[cut]".count && output?.hasSuffix("…[cut]") == true)
    }

    // MARK: Consent

    /// A question that has been heard at 5 000.
    private func asked() -> ToolLedger {
        var ledger = ToolLedger([tool("book", consent: true)])
        _ = ledger.settle([request("book")], hasSpoken: true, at: 1_000)
        ledger.questionAsked(turn: 2)
        _ = ledger.questionHeard(turn: 2, isInterrupted: false, at: 5_000)
        return ledger
    }

    @Test func onlyAYesAfterTheQuestionIsConsent() {
        var ledger = asked()
        let early = ledger.answered(true, since: 4_980, at: 6_000)
        #expect(early == .none, "it began before the question was heard")
        #expect(ledger.running.isEmpty)
        ledger = asked()
        guard case .given(let call) = ledger.answered(true, since: 5_000, at: 6_000) else {
            Issue.record("no consent")
            return
        }
        #expect(call.name == "book" && ledger.isWorking)
        ledger = asked()
        let unknown = ledger.answered(true, since: nil, at: 6_000)
        #expect(unknown == .none, "nobody knows when it was said")
    }

    @Test func aNoRefusesAndTwoQuestionsWithoutAnswerToo() {
        var ledger = asked()
        guard case .refused(_, let result) = ledger.answered(false, since: 5_500, at: 6_000) else {
            Issue.record("not refused")
            return
        }
        #expect(result.status == "refused" && ledger.isDue)
        ledger = asked()
        ledger.questionUnanswered()
        let exhausted = ledger.consentExhausted()
        #expect(exhausted == nil && ledger.questionDue?.name == "book")
        ledger.questionAsked(turn: 3)
        _ = ledger.questionHeard(turn: 3, isInterrupted: false, at: 9_000)
        ledger.questionUnanswered()
        let refused = ledger.consentExhausted()
        #expect(refused?.result.status == "refused" && ledger.isDue && !ledger.awaitsConsent)
    }

    @Test func aQuestionThatWasCutOffCountsForNothing() {
        var ledger = ToolLedger([tool("book", consent: true)])
        _ = ledger.settle([request("book")], hasSpoken: true, at: 1_000)
        ledger.questionAsked(turn: 2)
        let wasQuestion = ledger.questionHeard(turn: 2, isInterrupted: true, at: 2_000)
        #expect(wasQuestion)
        let answer = ledger.answered(true, since: 2_500, at: 3_000)
        #expect(answer == .none && ledger.questionDue != nil)
    }

    @Test(arguments: [
        ("en", "Yes, please.", true), ("en", "Sure", true), ("en", "No, thank you.", false), ("en", "Not now", false),
        ("en", "yes but no", false), ("en", "What would that cost?", nil), ("en", "I am not sure", nil),
        ("ko", "네", true), ("ko", "아니요", false), ("ru", "Да", true), ("ru", "Нет, не надо", false), ("en", "", nil),
    ])
    func wordsOfConsent(language: String, words: String, meaning: Bool?) {
        #expect(ToolLedger.answer(in: words, language: language) == meaning)
    }

    @Test(arguments: ["en", "ko", "ru"]) func theQuestionNamesTheToolsPurpose(language: String) {
        let words = ToolLedger.question(about: tool("it", consent: true), language: language)
        #expect(words.contains("Looks it up.") && words.hasSuffix("?"))
    }
}
