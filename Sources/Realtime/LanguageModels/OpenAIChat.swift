internal import Foundation
internal import Net

/// Chat completions as server-sent events with function calling (platform.openai.com/docs/api-reference/chat): OpenAI,
/// Groq, Ollama, vLLM, Gemini's OpenAI-compatible endpoint, and any other base URL.
public struct OpenAIChat: LanguageModel {
    public struct Configuration: Sendable, Equatable {
        /// The vendor's name, for messages.
        public var name = "openai"
        /// Without a slash at the end.
        public var url = "https://api.openai.com/v1"
        public var apiKey: String?
        public var model = "gpt-4.1-mini"
        public var temperature: Double? = 0.4
        /// False for models that know no functions: they report in a `[TASK_STATE]` block.
        public var canCallTools = true
        public init() {}
    }

    /// Requests for one response: a model may call tools before it speaks.
    private static let roundLimit = 3
    /// Pieces that cannot be understood, in one response.
    private static let errorLimit = 20
    /// Maximum characters of one response; the rest is cut off.
    private static let textLimit = 8_000
    /// Bytes of one tool call's arguments, and calls in one response.
    private static let argumentsLimit = 65_536
    private static let toolCallLimit = 16
    /// Bytes of all arguments of one response, after which it is broken off.
    private static let toolBytesLimit = 4 << 20
    /// Tokens of a summary.
    private static let summaryTokens = 400

    private let configuration: Configuration
    private let network: SpeechNetwork
    private let usage: UsageMeter?
    private let summaries = ConversationSummaries()

    /// - Parameter usage: counts the tokens of every request.
    public init(_ configuration: Configuration, network: SpeechNetwork, usage: UsageMeter? = nil) {
        self.configuration = configuration
        self.network = network
        self.usage = usage
    }

    private var service: String { "language-model/" + configuration.name }

    public func respond(to conversation: Conversation, _ tell: LanguageModelListener) async throws {
        try await answer(conversation, tell)
        // The caller does not wait for it.
        Task { await summaries.make(for: conversation) { try? await summarize($0) } }
    }

    private func answer(_ conversation: Conversation, _ tell: LanguageModelListener) async throws {
        let prompt = ChatPrompt(canCallTools: configuration.canCallTools)
        var messages = prompt.messages(conversation, summary: await summaries.summary(of: conversation))
        var tracker = conversation.tracker
        var isEnding = false
        for round in 1...Self.roundLimit {
            let answer = try await ask(messages, allowsTools: round < Self.roundLimit && !isEnding, conversation, tell)
            // The agent's own tools are carried out by the dialogue, which then asks again.
            let isForDialogue = answer.calls.contains { call in conversation.tools.contains { $0.name == call.name } }
            guard !answer.calls.isEmpty, !answer.hasText, !isForDialogue else { return }
            // There are only tool calls: the model gets their results, and then speaks.
            messages.append(["role": "assistant", "content": NSNull(), "tool_calls": answer.calls.map(\.object)])
            for call in answer.calls {
                let decision = DialogueDecision(
                    tool: call.name, arguments: call.arguments, canTransfer: conversation.canTransfer,
                    canPress: conversation.canPress)
                if case .report(let json, _) = decision { tracker.apply(json: json) }
                if case .end = decision { isEnding = true }
                messages.append([
                    "role": "tool", "tool_call_id": call.id, "content": decision.output(tracker, wantsGoodbye: true),
                ])
            }
        }
    }

    private struct Call {
        var id = ""
        /// Its arguments were more than `argumentsLimit`: it is ignored.
        var isTooBig = false
        var name = ""
        var arguments = ""
        var object: [String: Any] {
            ["id": id, "type": "function", "function": ["name": name, "arguments": arguments]]
        }
    }

    private struct Chunk: Decodable {
        struct Choice: Decodable {
            struct Delta: Decodable {
                struct ToolCall: Decodable {
                    struct Function: Decodable {
                        var name: String?
                        var arguments: String?
                    }
                    var index: Int?
                    var id: String?
                    var function: Function?
                }
                var content: String?
                var toolCalls: [ToolCall]?
            }
            var delta: Delta?
            var finishReason: String?
        }
        struct Failure: Decodable {
            var message: String?
        }
        var choices: [Choice]?
        var error: Failure?
        var usage: Usage?
    }

    /// Tokens, as the vendor counts them.
    private struct Usage: Decodable {
        struct Details: Decodable { var cachedTokens: Int? }
        var promptTokens: Int?
        var completionTokens: Int?
        var promptTokensDetails: Details?

        var tokens: TokenUsage {
            let cached = max(0, promptTokensDetails?.cachedTokens ?? 0)
            return TokenUsage(
                input: max(0, promptTokens ?? 0) - min(cached, max(0, promptTokens ?? 0)), cachedInput: cached,
                output: max(0, completionTokens ?? 0))
        }
    }

    /// Counts one request. The tokens are estimated if the response was broken off, or if the server does not report
    /// them.
    private func count(_ told: Usage?, _ messages: [[String: Any]], characters: Int) {
        let text = messages.compactMap { $0["content"] as? String }
        usage?.add(
            service,
            told?.tokens
                ?? TokenUsage(
                    input: text.reduce(0) { $0 + ChatPrompt.tokens($1) }, output: characters / Self.charactersPerToken,
                    isEstimated: true))
    }
    /// For estimates of a response's tokens.
    private static let charactersPerToken = 4

    /// One request.
    private func ask(
        _ messages: [[String: Any]], allowsTools: Bool, _ conversation: Conversation,
        _ tell: LanguageModelListener
    ) async throws -> (calls: [Call], hasText: Bool) {
        var body: [String: Any] = [
            "model": configuration.model, "messages": messages, "stream": true,
            "stream_options": ["include_usage": true],
        ]
        if let temperature = configuration.temperature { body["temperature"] = temperature }
        if configuration.canCallTools, allowsTools { body["tools"] = try Self.tools(conversation) }
        let response = try await network.send(try request(body), service: service)
        var filter = TaskStateFilter()
        var events: [LanguageModelEvent] = []
        var calls: [Call] = []
        var toolBytes = 0
        var hasText = false
        var isFinished = false
        var malformed = 0
        var count = 0
        var told: Usage?
        defer { self.count(told, messages, characters: count) }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        func pass() async throws {
            for event in events {
                if case .text(let text) = event, text.contains(where: { !$0.isWhitespace }) { hasText = true }
                try await tell(event)
            }
            events.removeAll(keepingCapacity: true)
        }
        do {
            for try await event in response.events where !event.data.isEmpty {
                if event.data == "[DONE]" {
                    isFinished = true
                    break
                }
                guard let chunk = try? decoder.decode(Chunk.self, from: Data(event.data.utf8)) else {
                    malformed += 1
                    if malformed > Self.errorLimit {
                        throw SpeechError("\(service) sent what cannot be understood", .broken)
                    }
                    continue
                }
                if let failure = chunk.error {
                    throw SpeechError("\(service): \((failure.message ?? "no reason given").prefix(300))", .unavailable)
                }
                if let usage = chunk.usage { told = usage }
                guard let choice = chunk.choices?.first else { continue }
                if let text = choice.delta?.content, !text.isEmpty {
                    count += text.count
                    if count > Self.textLimit {
                        isFinished = true
                        break
                    }
                    filter.process(text, into: &events)
                    try await pass()
                }
                for piece in choice.delta?.toolCalls ?? [] {
                    toolBytes += piece.function?.arguments?.utf8.count ?? 0
                    guard toolBytes <= Self.toolBytesLimit else {
                        throw SpeechError("\(service) gave its tools more than \(Self.toolBytesLimit) bytes", .broken)
                    }
                    add(piece, to: &calls)
                }
                if choice.finishReason != nil { isFinished = true }
            }
        } catch let error as NetError {
            throw SpeechError("\(service): \(error.message)", error.code == .timedOut ? .stalled : .broken)
        }
        guard isFinished else { throw SpeechError("\(service): the answer ended in the middle", .broken) }
        filter.finish(into: &events)
        try await pass()
        calls.removeAll(where: \.isTooBig)
        for call in calls {
            try await tell(.toolCall(name: call.name, arguments: call.arguments))
        }
        return (calls, hasText)
    }

    private func add(_ piece: Chunk.Choice.Delta.ToolCall, to calls: inout [Call]) {
        // Some servers send each call whole, without an index.
        let index = piece.index ?? (piece.id == nil ? max(0, calls.count - 1) : calls.count)
        // A prompt injection by the caller must not end the call: values beyond the limits are ignored.
        guard (0..<Self.toolCallLimit).contains(index) else { return }
        while calls.count <= index { calls.append(Call()) }
        if let id = piece.id, calls[index].id.isEmpty { calls[index].id = id }
        if let name = piece.function?.name, calls[index].name.isEmpty { calls[index].name = name }
        if let arguments = piece.function?.arguments {
            guard calls[index].arguments.utf8.count + arguments.utf8.count <= Self.argumentsLimit else {
                return calls[index].isTooBig = true
            }
            calls[index].arguments += arguments
        }
    }

    private static func tools(_ conversation: Conversation) throws -> [[String: Any]] {
        let own = DialogueTool.definitions(
            conversation.brief, canTransfer: conversation.canTransfer, canPress: conversation.canPress)
        return try (own + conversation.tools.map(\.definition)).map { tool in
            let parameters = try JSONSerialization.jsonObject(with: Data(tool.parameters.utf8))
            return [
                "type": "function",
                "function": ["name": tool.name, "description": tool.purpose, "parameters": parameters],
            ]
        }
    }

    private func request(_ body: [String: Any]) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(
            "POST", configuration.url + "/chat/completions",
            headers: [("content-type", "application/json"), ("accept", "text/event-stream")],
            body: Array(try JSONSerialization.data(withJSONObject: body, options: [.sortedKeys])))
        if let key = configuration.apiKey { request.headers.append(("authorization", "Bearer " + key)) }
        request.responseTimeoutMs = 5_000
        request.stallTimeoutMs = 4_000
        return request
    }

    private func summarize(_ text: String) async throws -> String? {
        try await complete(
            instructions:
                "Summarise this part of a telephone conversation in at most 150 words. "
                + "Keep names, numbers, dates, promises and what was answered.",
            text, tokens: Self.summaryTokens)
    }

    /// One answer to one text, for text that is not spoken.
    func complete(instructions: String, _ text: String, tokens: Int, asJSON: Bool = false) async throws -> String? {
        let messages: [[String: Any]] = [
            ["role": "system", "content": instructions], ["role": "user", "content": text],
        ]
        var body: [String: Any] = ["model": configuration.model, "max_tokens": tokens, "messages": messages]
        if asJSON { body["response_format"] = ["type": "json_object"] }
        let reply = try await network.send(try request(body), service: service).body.collect(limit: 1 << 20)
        guard let object = try JSONSerialization.jsonObject(with: Data(reply)) as? [String: Any],
            let choice = (object["choices"] as? [[String: Any]])?.first,
            let message = choice["message"] as? [String: Any]
        else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let answer = message["content"] as? String
        count((try? decoder.decode(Whole.self, from: Data(reply)))?.usage, messages, characters: answer?.count ?? 0)
        return answer
    }

    private struct Whole: Decodable { var usage: Usage? }
}
