import Bridge
import Foundation
import Pipeline
import Testing

@testable import Calls

/// A carrier on a clock of its own: plays a frame a tick, echoes marks when they are reached, drops all on clear.
private final class Carrier: MediaStream {
    var onMessage: ((MediaStreamMessage) -> Void)?
    var onClose: ((String) -> Void)?
    var isRemote: Bool { delayMs > 0 }
    var framesPerMessage: Int { isRemote ? 5 : 1 }

    let delayMs: Int
    let phaseMs: Int
    private var now = 0
    private var arriving: [(at: Int, message: MediaStreamMessage)] = []
    private var leaving: [(at: Int, mark: String)] = []
    private var queue: [MediaStreamMessage] = []
    /// When each frame began to play, on the carrier's clock.
    private(set) var played: [Int] = []

    init(delayMs: Int, phaseMs: Int) {
        self.delayMs = delayMs
        self.phaseMs = phaseMs
    }

    func send(_ message: MediaStreamMessage) -> Bool {
        arriving.append((now + delayMs, message))
        if delayMs == 0 { arrive() }
        return true
    }
    func close() {}

    private func arrive() {
        while let first = arriving.first, first.at <= now {
            arriving.removeFirst()
            switch first.message {
            case .clear:
                for case .mark(let name) in queue { leaving.append((now + delayMs, name)) }
                queue.removeAll()
            case .mark(let name) where !queue.contains(where: { if case .media = $0 { true } else { false } }):
                leaving.append((now + delayMs, name))
            default: queue.append(first.message)
            }
        }
    }

    /// One millisecond.
    func step(to time: Int, marks: (String) -> Void) {
        now = time
        arrive()
        if time % 20 == phaseMs {
            loop: while !queue.isEmpty {
                switch queue.removeFirst() {
                case .mark(let name): leaving.append((now + delayMs, name))
                case .media:
                    played.append(now)
                    break loop
                default: break
                }
            }
        }
        while let first = leaving.first, first.at <= now {
            leaving.removeFirst()
            marks(first.mark)
        }
    }
}

@Suite struct SpeakerTests {
    private struct Line: CustomTestStringConvertible {
        var delayMs: Int
        var phaseMs: Int
        var testDescription: String { "\(delayMs) ms away, ticks at \(phaseMs)" }
    }

    private static let frame: EncodedFrame = {
        var frame = EncodedFrame()
        for index in frame.bytes.indices { frame.bytes[index] = MuLaw.encode(2_000) }
        return frame
    }()

    /// Says `frames` frames from 105 ms on; interrupts at `flushAt`.
    private func run(_ line: Line, frames: Int, flushAt: Int?, until end: Int) async throws -> (
        carrier: Carrier, ledger: HeardLedger, right: [Int16], heard: [Int32]
    ) {
        let path = NSTemporaryDirectory() + UUID().uuidString + ".wav"
        defer { try? FileManager.default.removeItem(atPath: path) }
        nonisolated(unsafe) let recording = try Recording(path: path)  // used by this test alone
        let carrier = Carrier(delayMs: line.delayMs, phaseMs: line.phaseMs)
        let speaker = Speaker(stream: carrier, recording: recording)
        var heard: [Int32] = []
        for time in 0..<end {
            carrier.step(to: time) { if let turn = speaker.reached(mark: $0, at: time) { heard.append(turn) } }
            if time == 105 {
                let one = speaker.begin(turn: 1, text: "one two three four five")
                for _ in 0..<frames { _ = speaker.say(Self.frame, of: one, now: time) }
                speaker.complete(one)
                speaker.turnComplete(1)
            }
            if time == flushAt { speaker.flush(now: time) }
            if time % 20 == 7, let turn = speaker.tick(time).heard { heard.append(turn) }
        }
        speaker.flush(now: end)
        await withCheckedContinuation { continuation in recording.finish(now: end) { continuation.resume() } }
        let data = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(44)
        let samples = data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        return (carrier, speaker.ledger, stride(from: 1, to: samples.count, by: 2).map { samples[$0] }, heard)
    }

    /// Milliseconds of sound in a channel, and where it begins.
    private func sound(_ samples: [Int16]) -> (startMs: Int, ms: Int) {
        ((samples.firstIndex { $0 != 0 } ?? 0) / 8, samples.count { $0 != 0 } / 8)
    }

    @Test(arguments: [
        Line(delayMs: 0, phaseMs: 0), Line(delayMs: 0, phaseMs: 13), Line(delayMs: 35, phaseMs: 4),
        Line(delayMs: 120, phaseMs: 19),
    ])
    private func aTurnHeardToItsEndIsWhereItPlayed(_ line: Line) async throws {
        let (carrier, ledger, right, heard) = try await run(line, frames: 120, flushAt: nil, until: 4_000)
        #expect(heard == [1] && carrier.played.count == 120)
        let (start, ms) = sound(right)
        #expect(ms == 2_400 && ledger.utterances[0].playedMs == 2_400)
        // Seen from here, what plays over there is heard when word of it could be back.
        #expect(start == carrier.played[0] + line.delayMs && ledger.utterances[0].startedAt == start)
    }

    @Test(
        arguments: [Line(delayMs: 0, phaseMs: 3), Line(delayMs: 40, phaseMs: 11)],
        [140, 263, 388, 501, 777, 1_000, 1_234, 1_555, 1_999, 2_345])
    private func interruptedAtAKnownPointAllAgree(_ line: Line, flushAt: Int) async throws {
        let (carrier, ledger, right, heard) = try await run(line, frames: 120, flushAt: flushAt, until: 4_000)
        let played = carrier.played.count * 20
        let recorded = sound(right).ms
        #expect(heard.isEmpty)
        // A frame may begin in the very millisecond of the flush.
        #expect(abs(recorded - played) <= EncodedFrame.milliseconds && ledger.utterances[0].playedMs == recorded)
        #expect(ledger.utterances[0].droppedMs == 2_400 - recorded && ledger.utterances[0].isInterrupted)
    }

    @Test func aCarrierWithoutMarksIsHeardByOurClock() async throws {
        nonisolated(unsafe) let recording: Recording? = nil
        let pair = MediaStreamPair.make()
        pair.carrier.onMessage = { _ in }
        let speaker = Speaker(stream: pair.application, recording: recording)
        let one = speaker.begin(turn: 1, text: "one")
        for _ in 0..<10 { _ = speaker.say(Self.frame, of: one, now: 0) }
        speaker.complete(one)
        speaker.turnComplete(1)
        var heard: (turn: Int32, at: Int)?
        for time in stride(from: 0, to: 4_000, by: 20) {
            if let turn = speaker.tick(time).heard { heard = (turn, time) }
        }
        #expect(heard?.turn == 1 && heard?.at == 200 + Speaker.markTimeoutMs)
        #expect(speaker.ledger.utterances[0].playedMs == 200 && speaker.ledger.utterances[0].endedAt == 200)
    }
}
