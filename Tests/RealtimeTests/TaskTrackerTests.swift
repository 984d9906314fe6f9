import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct TaskTrackerTests {
    private let questions = [Question(id: "q1", text: "A?"), Question(id: "q2", text: "B?", isRequired: false)]

    @Test func reportsAreTakenAndNonsenseIsCounted() {
        var tracker = TaskTracker(questions: questions)
        let first = tracker.apply(
            json: #"{"asking":"q1","questions":[{"id":"q1","status":"answered","answer":"yes","value":true}]}"#)
        #expect(first == ["q1"])
        #expect(
            tracker.answers[0].status == .answered && tracker.answers[0].value == .boolean(true)
                && tracker.answers[0].confidence == nil)
        let second = tracker.apply(json: "not json")
        let third = tracker.apply(
            json:
                #"{"questions":[{"id":"q9","status":"answered"},{"id":"q2","status":"maybe"},"#
                + #"{"id":"q1","status":"pending"},"#
                + #"{"id":"q2","status":"not_asked"},{"id":"q2","status":"answered","confidence":7}]}"#
        )
        #expect(second == [] && third == [])
        #expect(tracker.ignoredReports == 6)
        #expect(tracker.isCompleted, "the open question is not required")
    }

    @Test func theEndSettlesWhatIsOpen() {
        var tracker = TaskTracker(questions: questions)
        tracker.apply(TaskReport(asking: "q1"))
        tracker.close()
        #expect(tracker.answers.map(\.status) == [.unclear, .notAsked])
    }
}
