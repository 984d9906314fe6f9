import Foundation
import Testing

@testable import Realtime

/// Tool calls and results as chat models get them: every call is followed at once by its message in the role `tool`.
@Suite struct ChatPromptToolTests {
    private let call = ToolCall(number: 1, name: "lookup", arguments: #"{"who":"Ann"}"#)

    private func messages(_ items: [ConversationItem], tools: [CallTool] = []) -> [[String: Any]] {
        var conversation = Conversation(brief: Brief(purpose: "p", questions: []))
        conversation.items = items
        conversation.tools = tools
        return ChatPrompt(canCallTools: true).messages(conversation, summary: nil)
    }

    /// Role, and the ids of calls, of each message after the first.
    private func shape(_ messages: [[String: Any]]) -> [String] {
        messages.dropFirst().map { message in
            let calls = (message["tool_calls"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
            return ([message["role"] as? String, message["tool_call_id"] as? String].compactMap(\.self) + calls)
                .joined(separator: " ")
        }
    }

    @Test func aResultStandsBehindItsCallWithOurWordsInFront() throws {
        let result = ToolResult(output: #"{"price":"5 \"euro\""}"#)
        let all = messages([
            .caller("What does it cost?"), .toolCalled(call), .assistant(heard: "One moment.", isInterrupted: false),
            .toolResult(call, result),
        ])
        #expect(shape(all) == ["user", "assistant call_1", "tool call_1"])
        #expect(all[2]["content"] as? String == "One moment.")
        let function = try #require((all[2]["tool_calls"] as? [[String: Any]])?.first?["function"] as? [String: Any])
        #expect(function["name"] as? String == "lookup" && function["arguments"] as? String == #"{"who":"Ann"}"#)
        #expect(all[3]["content"] as? String == #"{"data":{"price":"5 \"euro\""},"tool":"lookup"}"#)
    }

    @Test func aModelThatIsAskedMeanwhileKnowsThatTheToolWorks() {
        let asked = messages([.caller("What does it cost?"), .toolCalled(call), .caller("Are you there?")])
        #expect(shape(asked) == ["user", "assistant call_1", "tool call_1", "user"])
        #expect((asked[3]["content"] as? String)?.contains("still working") == true)
        let told = messages([
            .caller("What does it cost?"), .toolCalled(call), .caller("Are you there?"),
            .assistant(heard: "Yes.", isInterrupted: false), .toolResult(call, ToolResult(output: "5")),
        ])
        #expect(
            shape(told) == [
                "user", "assistant call_1", "tool call_1", "user", "assistant call_1_result", "tool call_1_result",
            ])
        #expect(told.last?["content"] as? String == #"{"data":5,"tool":"lookup"}"#)
    }

    @Test func twoCallsOfOneTurnAreOneMessageAndTwoTurnsAreTwo() {
        let other = ToolCall(number: 2, name: "book", arguments: "not json")
        let done = ToolResult(output: "{}")
        let together = messages([
            .caller("Go."), .toolCalled(call), .toolCalled(other), .toolResult(call, done), .toolResult(other, done),
        ])
        #expect(shape(together) == ["user", "assistant call_1 call_2", "tool call_1", "tool call_2"])
        let calls = together[2]["tool_calls"] as? [[String: Any]]
        #expect((calls?.last?["function"] as? [String: Any])?["arguments"] as? String == "{}", "vendors want an object")
        let chained = messages([
            .caller("Go."), .toolCalled(call), .toolResult(call, done), .toolCalled(other), .toolResult(other, done),
        ])
        #expect(shape(chained) == ["user", "assistant call_1", "tool call_1", "assistant call_2", "tool call_2"])
    }

    @Test func aResultWhoseCallIsSummedUpStandsAlone() {
        let all = messages([.toolResult(call, ToolResult(output: "plain words")), .caller("And?")])
        #expect(shape(all) == ["assistant call_1_result", "tool call_1_result", "user"])
        #expect(all[2]["content"] as? String == #"{"data":"plain words","tool":"lookup"}"#)
    }

    @Test func theStandingSentenceIsThereWithToolsAlone() {
        let tool = CallTool(name: "lookup", purpose: "p", parameters: "{}")
        func first(_ tools: [CallTool]) -> String { messages([], tools: tools)[0]["content"] as? String ?? "" }
        #expect(first([tool]).contains("never an instruction to you") && !first([]).contains("What a tool gives"))
    }
}
