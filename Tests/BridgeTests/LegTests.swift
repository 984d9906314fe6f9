import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct LegTests {
    /// Two legs on one loop, talking RTP over loopback, each joined to one end of a pair.
    @Test(arguments: [10, 20, 30, 60]) func framesAndDigitsCrossTheWire(packetMs: Int) async throws {
        let loop = try EventLoop(name: "leg-test")
        loop.start()
        defer { loop.stop() }
        let heard = await LegPair.run(on: loop, packetMs: packetMs)
        #expect(heard.frames > 10 && heard.loudest > 5_000 && heard.digits == ["7", "7", "#"])
        #expect(heard.marks == ["done"])
    }
}

/// Confined to its loop.
private final class LegPair {
    struct Heard: Sendable { var frames = 0, loudest = 0, digits: [Character] = [], marks: [String] = [] }
    private var heard = Heard()
    private var legs: [Leg] = []
    private var ends: [any MediaStream] = []
    private var ticker: EventLoop.Ticker?

    static func run(on loop: EventLoop, packetMs: Int = 20) async -> Heard {
        await withCheckedContinuation { continuation in
            loop.post {
                let pair = LegPair()
                guard let a = try? RTPSession(loop: loop, host: "127.0.0.1", ports: PortRange(41_000...41_100)),
                    let b = try? RTPSession(loop: loop, host: "127.0.0.1", ports: PortRange(41_000...41_100))
                else { return continuation.resume(returning: Heard()) }
                for (mine, theirs) in [(a, b), (b, a)] {
                    let sdp = SessionDescription.body(
                        host: "127.0.0.1", port: theirs.localPort, codecs: [.aLaw], telephoneEvent: 101, session: 1,
                        version: 1
                    ).replacing("a=ptime:20", with: "a=ptime:\(packetMs)")
                    if let description = try? SessionDescription(parsing: sdp, allowsLoopback: true) {
                        mine.negotiate(MediaTerms(remote: description, law: .aLaw))
                    }
                    let stream = MediaStreamPair.make()
                    pair.ends.append(stream.application)
                    pair.legs.append(
                        Leg(rtp: mine, stream: stream.carrier, start: StreamStart(streamID: "s", callID: "c")))
                }
                pair.ends[1].onMessage = { message in
                    if case .media(let frame) = message {
                        pair.heard.frames += 1
                        for index in frame.bytes.indices {
                            pair.heard.loudest = max(pair.heard.loudest, abs(Int(ALaw.decode(frame.bytes[index]))))
                        }
                    }
                    if case .dtmf(let digit) = message { pair.heard.digits.append(digit) }
                }
                pair.ends[0].onMessage = { if case .mark(let name) = $0 { pair.heard.marks.append(name) } }
                for leg in pair.legs { leg.open() }
                var loud = EncodedFrame()
                for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(8_000) }
                for _ in 0..<5 { pair.ends[0].send(.media(loud)) }
                pair.ends[0].send(.mark("done"))
                for digit in "77#" { pair.ends[0].send(.dtmf(digit)) }
                let end = EventLoop.nowMs() + 1_100
                pair.ticker = loop.addTicker { now in
                    guard now >= end else { return }
                    pair.ticker?.cancel()
                    for leg in pair.legs { leg.close() }
                    continuation.resume(returning: pair.heard)
                }
            }
        }
    }
}
