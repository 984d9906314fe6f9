internal import Net
internal import Realtime
internal import Synchronization

/// Carries the agent's tools out in a turn-based call. A result that does not come while our turn is made waits for the
/// next turn. A value in the call's actor.
struct TurnTools {
    /// A turn of ours waits so long for tools, ms; then the caller hears that it takes longer. Providers want the turn
    /// within 15 s.
    static let waitMs = 5_000

    private struct Run {
        let call: ToolCall
        let turn: Int
        let since: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    /// Results in the order in which they came; at most one for each call.
    private final class Finished: Sendable {
        private let results = Mutex<[(number: Int, result: ToolResult)]>([])
        let alarm = Alarm()

        func add(_ number: Int, _ result: ToolResult) {
            results.withLock { $0.append((number, result)) }
            alarm.ring()
        }

        func take() -> (number: Int, result: ToolResult)? {
            results.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    private let box: (any ToolBox)?
    private let journal: CallJournal
    private let finished = Finished()
    private var runs: [Int: Run] = [:]

    init(_ box: (any ToolBox)?, journal: CallJournal) {
        self.box = box
        self.journal = journal
    }

    var ledger: ToolLedger { ToolLedger(box?.tools ?? []) }

    /// - Parameter turn: entries of the transcript.
    mutating func run(_ call: ToolCall, turn: Int) {
        guard let box, runs[call.number] == nil else { return }
        journal.toolStarted(call.name)
        let task = Task { [finished] in
            let result = await box.call(call.name, arguments: call.arguments, number: call.number)
            finished.add(call.number, result)
        }
        runs[call.number] = Run(call: call, turn: turn, since: .now, task: task)
    }

    /// The next result; nil: there is none in time.
    func next(withinMs limitMs: Int) async -> (number: Int, result: ToolResult)? {
        let began = ContinuousClock.now
        while true {
            if let one = finished.take() { return one }
            let leftMs = limitMs - Int(began.duration(to: .now) / .milliseconds(1))
            guard leftMs > 0 else { return nil }
            await finished.alarm.wait(seconds: Double(leftMs) / 1_000)
        }
    }

    /// The result is taken.
    mutating func took(_ number: Int, _ result: ToolResult) {
        guard let run = runs.removeValue(forKey: number) else { return }
        let ms = Int(run.since.duration(to: .now) / .milliseconds(1))
        journal.toolFinished(ToolCallRecord(run.call, result, turn: run.turn, ms: ms))
    }

    func refused(_ call: ToolCall, _ result: ToolResult, turn: Int) {
        journal.toolFinished(ToolCallRecord(call, result, turn: turn, ms: 0))
    }

    mutating func cancel(_ number: Int, status: String = "timeout") {
        runs[number]?.task.cancel()
        took(number, ToolResult(status: status, output: "", attempts: 1))
    }

    /// The call is over.
    mutating func stop() {
        for number in runs.keys.sorted() { cancel(number, status: "cancelled") }
    }
}
