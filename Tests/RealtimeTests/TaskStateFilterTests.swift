import Foundation
import Pipeline
import TestSupport
import Testing

@testable import Realtime

@Suite struct TaskStateFilterTests {
    private func run(_ pieces: [String]) throws -> (text: String, calls: [String]) {
        let events = try StageHarness.run(TaskStateFilter(), pieces)
        var text = ""
        var calls: [String] = []
        for event in events {
            switch event {
            case .text(let piece): text += piece
            case .source: Issue.record("no knowledge was asked")
            case .toolCall(let name, let arguments):
                #expect(name == DialogueTool.reportTaskState)
                calls.append(arguments)
            }
        }
        return (text, calls)
    }

    @Test(arguments: 1...40) func isFoundHoweverItIsCut(size: Int) throws {
        let whole = "Thank you [really]. [TASK_STATE] {\"asking\":\"q1\"} [/TASK_STATE]Goodbye [TASK"
        let pieces = stride(from: 0, to: whole.count, by: size).map { start in
            String(whole[whole.index(whole.startIndex, offsetBy: start)...].prefix(size))
        }
        let (text, calls) = try run(pieces)
        #expect(text == "Thank you [really]. Goodbye [TASK" && calls == ["{\"asking\":\"q1\"}"])
    }

    /// Found by the fuzzer: a mark joins the bracket before it to one character, and the tag was none any more.
    @Test func aMarkBehindATagMakesNothingSpoken() throws {
        let (text, calls) = try run(["[TASK_STATE]\u{301}{}[/TASK_STATE]\u{301}Good", "bye."])
        #expect(text.unicodeScalars.elementsEqual("\u{301}Goodbye.".unicodeScalars) && calls == ["{}"])
    }

    @Test(arguments: [
        "Yes.[TASK_STATE]{\"asking\":", "Yes.[TASK_STATE]" + String(repeating: "x", count: 50_000),
        "Yes.[TASK_STATE]no json[/TASK_STATE]",
        "Yes.[TASK_STATE]}{[/TASK_STATE]",
    ])
    func malformedStatesAreDroppedAndNeverSpoken(text: String) throws {
        let (spoken, calls) = try run(
            stride(from: 0, to: text.count, by: 61).map { String(text.dropFirst($0).prefix(61)) })
        #expect(spoken == "Yes." && calls.isEmpty)
    }
}
