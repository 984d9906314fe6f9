import Foundation
import Net
import Synchronization
import TestSupport
import Testing

@testable import Realtime

/// The agent's tools in the vendors' own messages.
@Suite struct ToolWireTests {
    private static let tool = CallTool(
        name: "hours", purpose: "Opening hours.",
        parameters: #"{"type":"object","properties":{"day":{"type":"string"}}}"#)
    private static let call = ToolCall(number: 1, name: "hours", arguments: #"{"day":"Friday"}"#)

    private func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    // MARK: Chat completions

    /// What a chat server is asked, and what is told of its answers.
    private func chat(
        _ items: [ConversationItem], tools: [CallTool], answers: [String]
    ) async throws -> (asked: [[String: Any]], told: [LanguageModelEvent]) {
        let asked = Mutex<[String]>([])
        let server = ScriptedServer { connection, number in
            let head = connection.receiveHead().lowercased()
            let length = head.split(separator: "content-length: ").last?.prefix { $0.isNumber }
            asked.withLock { $0.append(connection.receive(length.flatMap { Int($0) } ?? 0)) }
            let lines = answers[min(number, answers.count) - 1]
            connection.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            connection.send(lines + "data: [DONE]\n\n")
        }
        defer { server.stop() }
        var configuration = OpenAIChat.Configuration()
        configuration.url = server.url
        let loop = try EventLoop(name: "chat")
        loop.start()
        defer { loop.stop() }
        let model = OpenAIChat(configuration, network: SpeechNetwork(client: HTTPClient(), loops: [loop]))
        var conversation = Conversation(brief: Brief(purpose: "to help", questions: []))
        conversation.items = items
        conversation.tools = tools
        let told = Mutex<[LanguageModelEvent]>([])
        try await model.respond(to: conversation) { event in told.withLock { $0.append(event) } }
        return (try asked.withLock { $0 }.map(object), told.withLock { $0 })
    }

    private static func called(_ name: String, _ arguments: String) -> String {
        let escaped = arguments.replacing("\"", with: "\\\"")
        let call = #"{"index":0,"id":"c1","function":{"name":"\#(name)","arguments":"\#(escaped)"}}"#
        return #"data: {"choices":[{"delta":{"tool_calls":[\#(call)]},"finish_reason":"tool_calls"}]}"# + "\n\n"
    }

    @Test func aChatModelThatCallsAToolIsNotAskedAgainByTheClient() async throws {
        let chat = try await chat(
            [.caller("When?")], tools: [Self.tool], answers: [Self.called("hours", #"{"day":"Friday"}"#)])
        #expect(chat.asked.count == 1, "the dialogue asks again when it has the result")
        #expect(chat.told == [.toolCall(name: "hours", arguments: #"{"day":"Friday"}"#)])
        let tools = try #require(chat.asked[0]["tools"] as? [[String: Any]])
        let functions = tools.compactMap { $0["function"] as? [String: Any] }
        #expect(functions.compactMap { $0["name"] as? String } == ["end_call", "send_dtmf", "hours"])
        #expect(functions.last?["description"] as? String == "Opening hours.")
        #expect((functions.last?["parameters"] as? [String: Any])?["type"] as? String == "object")
    }

    @Test func aChatModelGetsTheCallAndItsResult() async throws {
        let words = #"data: {"choices":[{"delta":{"content":"Nine to five."},"finish_reason":"stop"}]}"# + "\n\n"
        let result = ToolResult(output: #"{"open":"9-17"}"#)
        let chat = try await chat(
            [.caller("When?"), .toolCalled(Self.call), .toolResult(Self.call, result)], tools: [], answers: [words])
        let messages = try #require(chat.asked[0]["messages"] as? [[String: Any]])
        #expect(messages.suffix(3).compactMap { $0["role"] as? String } == ["user", "assistant", "tool"])
        let calls = try #require(messages[messages.count - 2]["tool_calls"] as? [[String: Any]])
        #expect(calls.first?["id"] as? String == "call_1" && calls.first?["type"] as? String == "function")
        #expect(messages.last?["tool_call_id"] as? String == "call_1")
        #expect(messages.last?["content"] as? String == #"{"data":{"open":"9-17"},"tool":"hours"}"#)
        #expect(chat.told.contains(.text("Nine to five.")))
    }

    // MARK: Speech models

    private var setup: SpeechSessionSetup {
        SpeechSessionSetup(
            instructions: "Be brief.", tools: [Self.tool.definition], language: "en",
            history: [.caller("When?"), .toolResult(Self.call, ToolResult(output: #"{"open":"9-17"}"#))])
    }

    /// What a session sends and tells, on a loop by hand.
    private func run(
        _ open: (EventLoop, @escaping (Data) -> Void) -> (any SpeechSession, (String) -> Void),
        _ body: (_ session: any SpeechSession, _ receive: (String) -> Void) -> Void
    ) throws -> (sent: [[String: Any]], told: [SpeechSessionEvent]) {
        let loop = try EventLoop.manual()
        defer { loop.stop() }
        var sent: [Data] = []
        var told: [SpeechSessionEvent] = []
        loop.run {
            let (session, receive) = open(loop) { sent.append($0) }
            session.onEvent = { told.append($0) }
            body(session, receive)
            session.close()
        }
        return (try sent.map { try object(String(decoding: $0, as: UTF8.self)) }, told)
    }

    @Test func openAIRealtimeDeclaresCallsAndTakesResults() throws {
        let wire = try run { loop, onSend in
            let nowhere = WebSocketURL(host: "127.0.0.1", port: 9, path: "/", isSecure: false)
            let session = OpenAIRealtimeSession(
                .init(url: nowhere), setup: setup, resolver: nil, loop: loop, onSend: onSend)
            session.configure()
            return (session, { text in Array(text.utf8).withUnsafeBufferPointer { session.received($0) } })
        } _: { session, receive in
            receive(#"{"type":"session.updated"}"#)
            receive(#"{"type":"response.created","response":{"id":"r1","status":"in_progress"}}"#)
            receive(
                #"{"type":"response.function_call_arguments.done","response_id":"r1","call_id":"c1","name":"hours","#
                    + #""arguments":"{\"day\":\"Friday\"}"}"#)
            receive(#"{"type":"response.done","response":{"id":"r1","status":"completed"}}"#)
            session.finishTool(callID: "c1", output: #"{"data":{},"tool":"hours"}"#)
            session.respond(nil)
            #expect(!session.goesOnAfterTools)
        }
        #expect(wire.told.contains(.toolCall(callID: "c1", name: "hours", arguments: #"{"day":"Friday"}"#)))
        let tools = (wire.sent[0]["session"] as? [String: Any])?["tools"] as? [[String: Any]]
        #expect(tools?.first?["name"] as? String == "hours" && tools?.first?["type"] as? String == "function")
        let note = ((wire.sent[2]["item"] as? [String: Any])?["content"] as? [[String: Any]])?.first?["text"] as? String
        #expect(note?.contains(#"{"data":{"open":"9-17"},"tool":"hours"}"#) == true, "a new session knows the results")
        let types = wire.sent.suffix(2).compactMap { $0["type"] as? String }
        #expect(types == ["conversation.item.create", "response.create"])
        let item = wire.sent[wire.sent.count - 2]["item"] as? [String: Any]
        #expect(item?["type"] as? String == "function_call_output" && item?["call_id"] as? String == "c1")
    }

    @Test func geminiLiveDeclaresCallsAndTakesResults() throws {
        let wire = try run { loop, onSend in
            var configuration = GeminiLive.Configuration()
            configuration.url = WebSocketURL(host: "127.0.0.1", port: 9, path: "/", isSecure: false)
            let session = GeminiLiveSession(configuration, setup: setup, resolver: nil, loop: loop, onSend: onSend)
            session.configure()
            return (session, { text in Array(text.utf8).withUnsafeBufferPointer { session.received($0) } })
        } _: { session, receive in
            receive(#"{"setupComplete":{}}"#)
            receive(#"{"toolCall":{"functionCalls":[{"id":"c1","name":"hours","args":{"day":"Friday"}}]}}"#)
            session.finishTool(callID: "c1", output: #"{"data":{},"tool":"hours"}"#)
            #expect(session.goesOnAfterTools)
        }
        #expect(wire.told.contains(.toolCall(callID: "c1", name: "hours", arguments: #"{"day":"Friday"}"#)))
        let tools = (wire.sent[0]["setup"] as? [String: Any])?["tools"] as? [[String: Any]]
        let declared = tools?.first?["functionDeclarations"] as? [[String: Any]]
        #expect(declared?.first?["name"] as? String == "hours")
        #expect(declared?.first?["behavior"] as? String == "NON_BLOCKING", "the model talks on meanwhile")
        let response = wire.sent.last?["toolResponse"] as? [String: Any]
        let function = (response?["functionResponses"] as? [[String: Any]])?.first
        #expect(function?["id"] as? String == "c1" && function?["name"] as? String == "hours")
        #expect((function?["response"] as? [String: Any])?["tool"] as? String == "hours")
    }
}
