internal import Net
internal import Realtime

/// Carries the agent's tools of one call out, beside the loop. It belongs to the call and not to a session: what runs
/// goes on where another session takes the conversation over, and ends with the call. Confined to the loop.
final class ToolRunner {
    struct Handlers {
        /// Milliseconds since the answer.
        var now: () -> Int
        /// Entries of the transcript.
        var transcriptCount: () -> Int
        var finished: (_ number: Int, _ result: ToolResult) -> Void
        var report: (CallGraph.Event) -> Void
    }

    private struct Run {
        let call: ToolCall
        let since: Int
        let turn: Int
        let task: Task<Void, Never>
    }

    private let box: (any ToolBox)?
    private let loop: EventLoop
    /// Until the call is over.
    var handlers: Handlers?
    private var runs: [Int: Run] = [:]

    init(_ box: (any ToolBox)?, on loop: EventLoop) {
        self.box = box
        self.loop = loop
    }

    var tools: [CallTool] { box?.tools ?? [] }

    func run(_ call: ToolCall) {
        guard let box, let handlers, runs[call.number] == nil else { return }
        handlers.report(.toolStarted(name: call.name))
        let me = Confined(self, to: loop)
        // The tool's own work must not hold up the loop.
        let task = Task(executorPreference: loop.background) { [loop] in
            let result = await box.call(call.name, arguments: call.arguments, number: call.number)
            loop.post { me.value.finished(call, result) }
        }
        runs[call.number] = Run(call: call, since: handlers.now(), turn: handlers.transcriptCount(), task: task)
    }

    private func finished(_ call: ToolCall, _ result: ToolResult) {
        guard let run = runs.removeValue(forKey: call.number) else { return }
        record(run, result)
        handlers?.finished(call.number, result)
    }

    /// A call that is not carried out.
    func refused(_ call: ToolCall, _ result: ToolResult) {
        guard let handlers else { return }
        handlers.report(.toolFinished(ToolCallRecord(call, result, turn: handlers.transcriptCount(), ms: 0)))
    }

    /// Its result is not awaited any more.
    func cancel(_ call: ToolCall) { cancel(call.number, status: "timeout") }

    private func cancel(_ number: Int, status: String) {
        guard let run = runs.removeValue(forKey: number) else { return }
        run.task.cancel()
        record(run, ToolResult(status: status, output: "", attempts: 1))
    }

    private func record(_ run: Run, _ result: ToolResult) {
        guard let handlers else { return }
        let ms = max(0, handlers.now() - run.since)
        handlers.report(.toolFinished(ToolCallRecord(run.call, result, turn: run.turn, ms: ms)))
    }

    /// The call is over.
    func stop() {
        for number in runs.keys.sorted() { cancel(number, status: "cancelled") }
        handlers = nil
    }
}
