import Realtime
import Testing

@Suite struct TextSimulationTests {
    private let brief = Brief(
        purpose: "to plan the dinner", callerDisplayName: "Kim",
        questions: [
            Question(id: "q1", text: "Will you attend?", kind: .boolean),
            Question(id: "q2", text: "How many guests will you bring?", kind: .number),
        ])

    private func run(_ steps: [TextSimulation.Step]) -> TextSimulation {
        var simulation = TextSimulation(brief, policy: ConversationPolicy())
        for step in steps { simulation.take(step) }
        return simulation
    }

    @Test func aConversationGoesToItsEnd() {
        let done = run([.says("yes i will be there"), .presses("12#"), .says("nobody hears this")])
        #expect(done.end == .taskCompleted && done.isOver)
        #expect(done.answers.map(\.value) == [.boolean(true), .number(12)])
        #expect(done.lines.map(\.speaker) == [.ai, .customer, .ai, .customer, .ai])
        #expect(done.lines[0].text.hasSuffix("Will you attend?") && done.lines[4].text.hasSuffix("Goodbye."))
    }

    @Test func silenceIsPromptedAndEndsTheCall() {
        let done = run([.isSilent, .isSilent, .isSilent])
        #expect(done.end == .silence)
        #expect(done.lines.count { $0.speaker == .ai } >= 3)
    }

    @Test func keysWithoutAnEndAreTakenAfterAPause() {
        let done = run([.presses("1"), .presses("4")])
        #expect(done.answers.map(\.value) == [.boolean(true), .number(4)])
    }
}
