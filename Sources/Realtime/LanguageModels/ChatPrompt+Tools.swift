/// Tool calls and their results as chat models want them: a message of ours that calls, followed at once by a message
/// in the role `tool` for each call.
///
/// A call whose result came before the other party spoke again stands there once, with its result. Otherwise it stands
/// in its place as still working, and once more where its result came.
extension ChatPrompt {
    /// Numbers of the calls whose result came before anything of the other party's.
    static func delivered(_ items: ArraySlice<ConversationItem>) -> Set<Int> {
        var waiting: Set<Int> = []
        var delivered: Set<Int> = []
        for item in items {
            switch item {
            case .toolCalled(let call): waiting.insert(call.number)
            case .toolResult(let call, _): if waiting.remove(call.number) != nil { delivered.insert(call.number) }
            case .assistant: break
            default: waiting = []
            }
        }
        return delivered
    }

    /// The messages of a tool's call or result; nil: the item is something else.
    static func toolMessages(_ item: ConversationItem, _ delivered: Set<Int>) -> [[String: Any]]? {
        switch item {
        case .toolCalled(let call):
            if delivered.contains(call.number) { return [] }
            return pair(call, id: "call_\(call.number)", call.toldMeanwhile)
        case .toolResult(let call, let result):
            let id = "call_\(call.number)" + (delivered.contains(call.number) ? "" : "_result")
            return pair(call, id: id, call.told(result))
        default: return nil
        }
    }

    private static func pair(_ call: ToolCall, id: String, _ content: String) -> [[String: Any]] {
        [
            [
                "role": "assistant",
                "tool_calls": [
                    [
                        "id": id, "type": "function",
                        "function": ["name": call.name, "arguments": call.sentArguments],
                    ] as [String: Any]
                ],
            ], ["role": "tool", "tool_call_id": id, "content": content],
        ]
    }

    /// Adds a pair. The call joins our last words, or the message of the pair before it.
    static func append(_ pair: [[String: Any]], joining: Bool, to messages: inout [[String: Any]]) {
        guard pair.count == 2 else { return }
        let results = joining ? messages.reversed().prefix { $0["role"] as? String == "tool" }.count : 0
        let place = messages.count - 1 - results
        guard place >= 0, messages[place]["role"] as? String == "assistant" else {
            return messages += [pair[0].merging(["content": ""]) { $1 }, pair[1]]
        }
        let before = messages[place]["tool_calls"] as? [Any] ?? []
        messages[place]["tool_calls"] = before + (pair[0]["tool_calls"] as? [Any] ?? [])
        messages.append(pair[1])
    }
}
