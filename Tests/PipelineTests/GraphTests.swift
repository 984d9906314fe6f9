import Testing

@testable import Pipeline

@Suite struct GraphTests {
    private struct Doubler: Service {
        func run(from input: Edge<Int>, to output: Edge<Int>) async throws {
            while case .data(let value)? = await input.next() { try await output.send(value * 2) }
        }
    }
    private struct Broken: Error {}

    @Test func stagesRunUntilTheirInputEnds() async throws {
        var graph = Graph()
        let input = Edge<Int>("in", limit: 4, whenFull: .wait)
        let output = Edge<Int>("out", limit: 4, whenFull: .wait)
        graph.add("double", Doubler(), from: input, to: output)
        try await input.send(21)
        input.finish()
        try await graph.run()
        #expect(await output.next() == .data(42))
        #expect(await output.next() == .end)
    }

    @Test func theFirstFailureEndsAllAndSaysWhere() async throws {
        var graph = Graph()
        let never = Edge<Int>("never", limit: 1, whenFull: .wait)
        let output = Edge<Int>("out", limit: 1, whenFull: .wait)
        graph.add("waits", Doubler(), from: never, to: output)
        graph.add("breaks") { throw Broken() }
        let error = await #expect(throws: StageFailure.self) { try await graph.run() }
        #expect(error?.stage == "breaks")
    }
}
