import Bridge
import Foundation
import Net
import Pipeline
import Realtime
import Store
import TestSupport

@testable import Calls

/// A call over a media stream of linear PCM whose rate its handshake settles, after the graph is there. Virtual time.
final class PCMCall {
    let loop: EventLoop
    let graph: CallGraph
    /// Hertz.
    let rate: Int32
    private(set) var isOver = false
    private let sockets: WebSocketPair
    private var sent = 0

    /// - Parameter recording: a path to record to.
    init(_ mode: ConversationMode, rate: Int32, recording path: String? = nil, vault: Vault = Vault()) throws {
        self.rate = rate
        let loop = try EventLoop.manual()
        self.loop = loop
        let sockets = loop.run { WebSocketPair(on: loop) }
        self.sockets = sockets
        let recording = try path.map { try Recording(path: $0, vault: vault) }
        let stream = try loop.run {
            try WebSocketMediaStream(
                sockets.application, dialect: BinaryDialect.self, DialectOptions(role: .application))
        }
        var over: () -> Void = {}
        graph = loop.run {
            CallGraph(
                loop: loop, stream: stream, modes: [mode],
                brief: Brief(purpose: "to ask", questions: [Question(id: "q1", text: "Will you come?")]),
                settings: .init(), recording: recording
            ) { if case .ended = $0 { over() } }
        }
        over = { [weak self] in self?.isOver = true }
        loop.run { graph.start() }
        sockets.carrier.send(text: "START s \(rate)")
        loop.advance(ms: 20)
    }

    deinit {
        let graph = graph
        loop.run { graph.finish(.operatorHangup) }
        loop.advance(ms: 100)
        loop.stop()
    }

    /// Hangs up, and waits until the recording is written.
    func endAndWait() throws {
        loop.run { graph.finish(.operatorHangup) }
        // The file is written by another thread.
        for _ in 0..<100 where !isOver {
            Recording.settle()
            loop.advance(ms: 20)
        }
        guard isOver else { throw CancellationError() }
    }

    /// The caller's sound for so long, 20 ms a message: tones of an amplitude of 6 000 each, or silence.
    /// - Parameter each: runs after each message.
    func play(ms: Int, hertz: [Double] = [], each: () -> Void = {}) {
        for _ in 0..<ms / 20 {
            let samples = (sent..<sent + Int(rate) / 50).map { at in
                Int16(hertz.reduce(0) { $0 + 6_000 * sin(2 * .pi * $1 * Double(at) / Double(rate)) })
            }
            sent += samples.count
            sockets.carrier.send(binary: samples.withUnsafeBytes { Array($0) })
            loop.advance(ms: 20)
            each()
        }
    }

    /// Silence, a second of 1 and 6 kHz, and silence that ends the turn.
    func playTurn(each: () -> Void = {}) {
        play(ms: 1_600, each: each)
        play(ms: 1_000, hertz: rate > 8_000 ? [1_000, 6_000] : [1_000], each: each)
        play(ms: 1_400, each: each)
    }
}
