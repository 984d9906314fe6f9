import Net
import TestSupport
import Testing

@testable import Bridge

/// How a carrier learns that an application has ended the call, or has failed.
@Suite struct StreamEndTests {
    /// An application that closes as it should has ended the call, whatever its dialect.
    @Test(arguments: [(1_000, true), (1_005, true), (1_001, false), (1_006, false), (1_011, false)])
    func aCloseMeansTheEndOrAFailure(code: UInt16, isUsual: Bool) throws {
        let line = try ConnectorLine(BigEndianDialect.self)
        line.loop.run { line.sockets.application.close(code: code) }
        #expect(line.atCarrier == (isUsual ? [.stop] : []))
        #expect(line.carrier.failure == (isUsual ? nil : .closed(code: Int(code))))
    }

    /// A leg cannot wait for the close frame of a far end that speaks nonsense.
    @Test func aCarrierIsToldOfNonsenseAtOnce() throws {
        let line = try ConnectorLine(BigEndianDialect.self)
        var reasons: [String] = []
        line.carrier.onClose = { reasons.append($0) }
        for _ in 0...WebSocketMediaStream.errorLimit { line.loop.run { line.sockets.application.send(text: "{") } }
        #expect(reasons.count == 1 && line.carrier.failure == .malformed)
        #expect(line.sockets.carrier.closedWith == 1_003 && line.atCarrier.isEmpty)
    }
}
