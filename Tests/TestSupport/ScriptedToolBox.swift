public import Realtime
internal import Synchronization

/// Tools that give what the test says, when the test says it.
public final class ScriptedToolBox: ToolBox {
    /// A call of a tool, as the box got it.
    public struct Called: Sendable, Equatable {
        public var name: String
        public var arguments: String
        public var number: Int
        public init(_ name: String, _ arguments: String, number: Int) {
            self.name = name
            self.arguments = arguments
            self.number = number
        }
    }

    private struct State {
        var called: [Called] = []
        var ready: [Int: ToolResult] = [:]
        var waiting: [Int: CheckedContinuation<ToolResult, Never>] = [:]
        var cancelled: [Int] = []
    }
    private let state = Mutex(State())
    /// What every tool gives at once; nil: it works until `finish`.
    private let atOnce: ToolResult?
    public let tools: [CallTool]

    public init(_ tools: [CallTool], atOnce: ToolResult? = nil) {
        self.tools = tools
        self.atOnce = atOnce
    }

    /// A tool without parameters.
    public static func tool(
        _ name: String, speech: CallTool.WaitingSpeech? = nil, needsConsent: Bool = false, limit: Int = 10
    ) -> CallTool {
        CallTool(
            name: name, purpose: "Does \(name).", parameters: #"{"type":"object","properties":{}}"#, speech: speech,
            needsConsent: needsConsent, limit: limit)
    }

    public var called: [Called] { state.withLock { $0.called } }
    /// Numbers of the calls that were given up.
    public var cancelled: [Int] { state.withLock { $0.cancelled } }

    /// A call has its result.
    public func finish(_ number: Int, _ output: String, status: String = "ok") {
        let result = ToolResult(status: status, output: output)
        let waiting = state.withLock { state -> CheckedContinuation<ToolResult, Never>? in
            if let waiting = state.waiting.removeValue(forKey: number) { return waiting }
            state.ready[number] = result
            return nil
        }
        waiting?.resume(returning: result)
    }

    public func call(_ name: String, arguments: String, number: Int) async -> ToolResult {
        state.withLock { $0.called.append(Called(name, arguments, number: number)) }
        if let atOnce { return atOnce }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> ToolResult? in
                    if Task.isCancelled { return ToolResult(status: "cancelled", output: "{}") }
                    if let ready = state.ready.removeValue(forKey: number) { return ready }
                    state.waiting[number] = continuation
                    return nil
                }
                if let ready { continuation.resume(returning: ready) }
            }
        } onCancel: {
            state.withLock { state in
                state.cancelled.append(number)
                return state.waiting.removeValue(forKey: number)
            }?.resume(returning: ToolResult(status: "cancelled", output: "{}"))
        }
    }
}
