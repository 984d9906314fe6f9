import Dispatch
import Foundation
import Synchronization
import Testing

@testable import trunkline

@Suite struct LineWriterTests {
    /// Takes what is written when it is let.
    private final class Reader: Sendable {
        let texts = Mutex<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        func take(_ text: String) -> Bool {
            gate.wait()
            texts.withLock { $0.append(text) }
            return true
        }
        var lines: [Substring] { texts.withLock { $0.joined().split(separator: "\n") } }
    }

    @Test func linesComeInOrder() {
        let reader = Reader()
        let writer = LineWriter(reader.take)
        for _ in 0..<100 { reader.gate.signal() }
        for index in 0..<50 { writer.add("\(index)") }
        writer.finish(within: .seconds(10))
        #expect(reader.lines == (0..<50).map { "\($0)" })
    }

    /// A reader who does not read holds nobody up, and little waits for it.
    @Test func whatIsNotReadIsLeftOutAndCounted() {
        let reader = Reader()
        let writer = LineWriter(reader.take)
        let line = String(repeating: "x", count: 1_023)
        for _ in 0..<5_000 { writer.add(line) }
        writer.finish(within: .milliseconds(1))
        #expect(reader.lines.isEmpty, "it was not waited for")
        for _ in 0..<100 { reader.gate.signal() }
        writer.finish(within: .seconds(10))
        let whole = reader.lines.count { $0.utf8.count == 1_023 }
        #expect(whole <= 2 * LineWriter.limit / 1_024)
        let omitted = reader.lines.compactMap { $0.hasPrefix("(") ? Int($0.dropFirst().prefix { $0.isNumber }) : nil }
        #expect(whole + omitted.reduce(0, +) == 5_000)
        writer.add("again")
        writer.finish(within: .seconds(10))
        #expect(reader.lines.last == "again")
    }

    @Test func aReaderWhoIsGoneIsWrittenToOnce() {
        let count = Atomic<Int>(0)
        let writer = LineWriter { _ in
            count.add(1, ordering: .relaxed)
            return false
        }
        writer.add("a")
        writer.finish(within: .seconds(10))
        for _ in 0..<100 { writer.add("b") }
        writer.finish(within: .seconds(10))
        #expect(count.load(ordering: .relaxed) == 1)
    }
}
