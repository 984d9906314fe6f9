import Bridge
import Foundation
import Net
import Pipeline
import Realtime
import TestSupport
import Testing

@testable import Calls

/// No queue without a bound: the edges of a call in every mode, and the streams in the sources.
@Suite struct QueueLimitTests {
    private func reading(_ mode: ConversationMode) throws -> GraphReading {
        let loop = try EventLoop.manual()
        defer { loop.stop() }
        return loop.run {
            let ends = MediaStreamPair.make()
            let graph = CallGraph(
                loop: loop, stream: ends.application, modes: [mode], brief: Brief(purpose: "to ask", questions: []),
                settings: .init(), recording: nil
            ) { _ in }
            graph.start()
            defer { graph.finish(.operatorHangup) }
            return graph.reading
        }
    }

    @Test(arguments: ["cascade", "realtime"]) func everyEdgeOfAStreamHasALimitAndBothEnds(mode: String) throws {
        let graph = try reading(
            mode == "cascade" ? .cascade(ScriptedCascade().engines) : .realtime(ScriptedModel()))
        #expect(graph.edges.count >= 2)
        check(graph.edges, stages: Set(graph.stages.map(\.name)))
        // Sound reaches the conversation, and the conversation the caller.
        #expect(graph.edges.first?.from == "barge-in" && graph.edges.last?.to == CallLayout.pacer)
    }

    @Test func everyEdgeOfATurnBasedCallHasALimit() {
        let cascade = Cascade(ScriptedCascade().engines, heard: CallLayout.heardFromFile)
        check(CallLayout.edges(cascade.edges, behind: ["barge-in"]), stages: nil)
        #expect(cascade.edges.allSatisfy { $0.whenFull == .wait }, "a file can wait")
    }

    private func check(_ edges: [EdgeReading], stages: Set<String>?) {
        for edge in edges {
            #expect((1...2_000).contains(edge.limit), "\(edge.name)")
            #expect(WhenFull(rawValue: edge.whenFull.rawValue) != nil)
            guard let stages else { continue }
            #expect(stages.contains(edge.from), "\(edge.name) begins at \(edge.from), which is no stage")
            #expect(stages.contains(edge.to), "\(edge.name) ends at \(edge.to), which is no stage")
        }
    }

    // MARK: The sources

    /// A stream is made: `AsyncStream { … }`, `AsyncStream(…)`, `AsyncStream.makeStream(…)`.
    private static let made = #"Async(Throwing)?Stream(<.*>)?(\(|\.makeStream\(| \{)|(^|[^.\w])makeStream\("#
    private static let bounded = #"bufferingPolicy:\s*\.buffering(Oldest|Newest)|unfolding:"#

    /// Streams of a source whose buffer has no limit, by their lines.
    private static func unbounded(in text: String) throws -> [String] {
        let made = try Regex(Self.made)
        let bounded = try Regex(Self.bounded)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.compactMap { index in
            let line = lines[index]
            guard !line.drop(while: \.isWhitespace).hasPrefix("//"), line.contains(made),
                !line.contains("-> AsyncStream"), !line.contains(": AsyncStream")
            else { return nil }
            let whole = lines[index...min(index + 2, lines.count - 1)].joined(separator: " ")
            return whole.contains(bounded) ? nil : String(line)
        }
    }

    @Test func everyStreamInTheSourcesHasALimit() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources")
        let names = try #require(FileManager.default.enumerator(atPath: root.path)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".swift") }
        #expect(names.count > 100, "the walk finds no sources in \(root.path)")
        for name in names {
            let text = try String(contentsOf: root.appendingPathComponent(name), encoding: .utf8)
            #expect(try Self.unbounded(in: text) == [], "\(name): say `bufferingPolicy`")
        }
    }

    @Test(arguments: [
        ("let lines = AsyncStream<Data> { continuation in", true),
        ("let (a, b) = AsyncStream<Int>.makeStream()", true),
        ("let (a, b) = AsyncThrowingStream<Int, any Error>.makeStream(", true),
        ("let (a, b) = AsyncStream<Int>.makeStream(\n    bufferingPolicy: .bufferingOldest(3))", false),
        ("let a = AsyncStream<Int>(bufferingPolicy: .unbounded) { _ in }", true),
        ("let a = AsyncStream(unfolding: { 1 })", false),
        ("func watch() -> AsyncStream<CallEvent> {", false), ("// AsyncStream { }", false),
        ("private let work: AsyncStream<Work>.Continuation", false),
    ])
    func aStreamWithoutALimitIsFound(source: String, isFound: Bool) throws {
        #expect(try Self.unbounded(in: source).isEmpty == !isFound)
    }
}
