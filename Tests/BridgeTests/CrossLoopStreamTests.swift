import Foundation
import Net
import Testing

@testable import Bridge

/// A stream of one loop, used on another.
@Suite struct CrossLoopStreamTests {
    /// Both loops, a pair of streams on the far one, and the end that was handed over.
    private struct Joined {
        var near: EventLoop
        var far: EventLoop
        var handed: Confined<CrossLoopStream>
        var other: Confined<any MediaStream>
    }

    private func join() async throws -> Joined {
        let near = try EventLoop(name: "near"), far = try EventLoop(name: "far")
        near.start()
        far.start()
        let pair = await on(far) {
            let pair = MediaStreamPair.make()
            return (Confined(pair.application, to: far), Confined(pair.carrier, to: far))
        }
        let handed = await on(near) { Confined(CrossLoopStream.hand(pair.0, of: far, to: near), to: near) }
        return Joined(near: near, far: far, handed: handed, other: pair.1)
    }

    private func on<Value: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { done in loop.post { done.resume(returning: body()) } }
    }

    /// What passed through is waited for by passing through once more.
    private func settle(_ joined: Joined) async {
        for loop in [joined.near, joined.far, joined.near] { await on(loop) {} }
    }

    private final class Heard: @unchecked Sendable {  // Touched on one loop, and read when that is done.
        var messages: [MediaStreamMessage] = []
        var reason: String?
    }

    @Test func messagesPassBothWaysInOrder() async throws {
        let joined = try await join(), here = Heard(), there = Heard()
        await on(joined.near) { joined.handed.value.onMessage = { here.messages.append($0) } }
        await on(joined.far) { joined.other.value.onMessage = { there.messages.append($0) } }
        let sent: [MediaStreamMessage] = [.mark("a"), .clear, .dtmf("5"), .mark("b")]
        await on(joined.near) { for message in sent { _ = joined.handed.value.send(message) } }
        await on(joined.far) { for message in sent { joined.other.value.send(message) } }
        await settle(joined)
        #expect(here.messages == sent && there.messages == sent)
    }

    @Test func closingIsReportedOnce() async throws {
        let joined = try await join(), here = Heard()
        await on(joined.near) { joined.handed.value.onClose = { here.reason = (here.reason ?? "") + $0 } }
        await on(joined.far) {
            joined.other.value.close()
            joined.other.value.close()
        }
        await settle(joined)
        #expect(here.reason == "the other end closed the stream")
        #expect(await on(joined.near) { joined.handed.value.send(.clear) } == false)
    }

    /// The far loop stands still: a second of media is kept for it, and no more.
    @Test func aLoopThatStandsStillIsNotBuriedInMessages() async throws {
        let joined = try await join(), there = Heard(), gate = DispatchSemaphore(value: 0)
        await on(joined.far) { joined.other.value.onMessage = { there.messages.append($0) } }
        joined.far.post { gate.wait() }
        let taken = await on(joined.near) { (0..<200).count { joined.handed.value.send(.mark("\($0)")) } }
        gate.signal()
        await settle(joined)
        #expect(taken == CrossLoopStream.pendingLimit && there.messages.count == taken)
        #expect(await on(joined.near) { joined.handed.value.send(.clear) })
    }
}
