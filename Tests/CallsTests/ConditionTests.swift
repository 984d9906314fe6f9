import Foundation
import Realtime
import Store
import Testing

@testable import Calls

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
