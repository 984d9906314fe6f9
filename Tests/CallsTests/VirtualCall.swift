import Bridge
import Net
import Pipeline
import Realtime
import TestSupport

@testable import Calls

/// A call in progress in virtual time: a scripted caller, the graph, and what the graph has reported.
class VirtualCall {
    let loop: EventLoop
    let caller: ScriptedCaller
    let graph: CallGraph
    private(set) var events: [CallGraph.Event] = []

    init(
        _ modes: [ConversationMode], questions: [Question] = [Question(id: "q1", text: "Will you come?")],
        maxTurns: Int = 50, tools: ScriptedToolBox? = nil, _ change: (inout CallGraph.Settings) -> Void = { _ in }
    ) throws {
        let loop = try EventLoop.manual()
        self.loop = loop
        var settings = CallGraph.Settings()
        settings.policy.canTransfer = true
        change(&settings)
        let brief = Brief(purpose: "to ask", questions: questions, maxTurns: maxTurns)
        var report: ((CallGraph.Event) -> Void)?
        (caller, graph) = loop.run {
            let ends = MediaStreamPair.make()
            let graph = CallGraph(
                loop: loop, stream: ends.application, modes: modes, brief: brief, settings: settings, recording: nil,
                toolBox: tools
            ) { report?($0) }
            return (ScriptedCaller(ends.carrier, on: loop), graph)
        }
        report = { [weak self] in self?.events.append($0) }
        loop.run {
            graph.start()
            graph.streamStarted()
        }
    }

    deinit {
        caller.leave()
        loop.run { graph.finish(.operatorHangup) }
        loop.stop()
    }

    /// nil: the call goes on.
    var outcome: Outcome? {
        for case .ended(let outcome) in events { return outcome }
        return nil
    }
    var warnings: [String] { events.compactMap { if case .warning(let text) = $0 { text } else { nil } } }
    /// What the record keeps of the agent's tools.
    var toolCalls: [ToolCallRecord] { events.compactMap { if case .toolFinished(let call) = $0 { call } else { nil } } }
    var toolsStarted: [String] { events.compactMap { if case .toolStarted(let name) = $0 { name } else { nil } } }
    var isTransferWanted: Bool { events.contains { if case .transfer = $0 { true } else { false } } }
    func on(_ body: () -> Void) { loop.run(body) }

    /// Lets time pass until something is so; false after `limitMs`.
    func wait(_ limitMs: Int = 10_000, until condition: () -> Bool) -> Bool {
        var passed = 0
        while !condition(), passed < limitMs {
            loop.advance(ms: 20)
            passed += 20
        }
        return condition()
    }
}
