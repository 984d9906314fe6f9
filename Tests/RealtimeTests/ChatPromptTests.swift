import Foundation
import Pipeline
import Testing

@testable import Realtime

@Suite struct ChatPromptTests {
    @Test func thePromptContainsOnlyHeardText() {
        var conversation = Conversation(brief: Brief(purpose: "p", questions: [Question(id: "q1", text: "Will you?")]))
        conversation.items = [
            .connected, .assistant(heard: "Hello, this", isInterrupted: true), .caller("What?"), .keys("1"), .silence,
        ]
        let messages = ChatPrompt(canCallTools: true).messages(conversation, summary: nil)
        #expect(messages.map { $0["role"] as? String } == ["system", "user", "assistant", "user"])
        #expect(messages[2]["content"] as? String == "Hello, this —")
        #expect((messages[3]["content"] as? String)?.hasPrefix("What?\n[They pressed the keys 1.]\n[") == true)
        let short = ChatPrompt(canCallTools: false).messages(
            conversation, summary: ConversationSummary(itemCount: 4, text: "They asked what."))
        #expect(short.count == 3 && (short[0]["content"] as? String)?.contains("[TASK_STATE]") == true)
        #expect((short[1]["content"] as? String)?.contains("They asked what.") == true)
    }
    @Test func koreanCostsMore() {
        #expect(ChatPrompt.tokens("안녕하세요") == 9 && ChatPrompt.tokens("Hello, how are you?") == 8)
    }
}
