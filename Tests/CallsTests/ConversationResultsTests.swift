import Realtime
import Testing

@testable import Calls

@Suite struct ConversationResultsTests {
    @Test func aFarEndIsToldWhatWasAnswered() {
        var tracker = TaskTracker(questions: [
            Question(id: "q1", text: "Will you come?"), Question(id: "q2", text: "How many?"),
            Question(id: "q3", text: "Why?"), Question(id: "q4", text: "Who?"),
        ])
        _ = tracker.apply(
            TaskReport(questions: [
                .init(id: "q1", status: .answered, answer: "Yes, we will.", value: .boolean(true)),
                .init(id: "q2", status: .answered, answer: "Four of us.", value: .number(4)),
                .init(id: "q3", status: .answered, answer: "Because.", summary: "no reason"),
                .init(id: "q4", status: .refused, answer: "I won't say."),
            ]))
        let outcome = Outcome(
            endReason: .taskCompleted, tracker: tracker, answeredBy: .human, transcript: [], latencies: [],
            interruptions: 0)
        #expect(
            ConversationHost.results(outcome) == [
                "q1": "true", "q2": "4", "q3": "no reason", "end_reason": "task_completed",
            ])
    }
}
