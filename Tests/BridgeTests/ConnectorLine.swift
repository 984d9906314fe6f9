import Foundation
import Net
import Pipeline
import TestSupport

@testable import Bridge

/// A `StreamLine` whose application lets every stream in, as the stream server does; the carrier may be a
/// `ScriptedCaller`.
final class ConnectorLine: StreamLine {
    static let start = StreamStart(
        streamID: "11111111-2222-4333-8444-555555555555", callID: "66666666-7777-4888-9999-000000000000",
        parameters: ["k": "v \"1\"", "from": "+4930", "to": "+4940"])
    /// 20 ms of 1 kHz.
    static let tone = StreamLine.tone(0)

    init(
        _ dialect: any MediaStreamDialect.Type, format: WireFormat? = nil, handshake: WebSocket.Handshake? = nil
    ) throws {
        try super.init(
            dialect, carrier: DialectOptions(role: .carrier, format: format),
            application: DialectOptions(role: .application, handshake: handshake))
        onApplication = { [unowned self] in if case .start = $0 { self.application.send($0) } }
    }

    /// The carrier begins, and is let in.
    func open() {
        tell(.start(Self.start))
        pass()
    }
    func pass(ms: Int = 20) { loop.advance(ms: ms) }
}
