import Foundation
import Net
import TestSupport
import Testing

@testable import Bridge

/// As carrier: an application sends an utterance as a whole.
@Suite struct LongPayloadTests {
    private static func media(seconds: Double, _ streamID: String) -> String {
        let sound = Data(repeating: 0x7F, count: Int(seconds * 8_000))
        return #"{"event":"media","streamSid":"\#(streamID)","media":{"payload":"\#(sound.base64EncodedString())"}}"#
    }

    @Test(arguments: [TwilioDialect.self, SignalWireDialect.self] as [any MediaStreamDialect.Type])
    func thirtySecondsAreTakenAndMoreIsNot(dialect: any MediaStreamDialect.Type) throws {
        let line = try StreamLine(
            dialect, carrier: DialectOptions(role: .carrier, streamID: "MZ1", format: .muLaw8k))
        line.tell(.start(StreamStart(streamID: "MZ1", callID: "CA1")))
        line.loop.advance(ms: 20)
        let whole = Self.media(seconds: 30, "MZ1")
        let limit = line.loop.run { line.sockets.carrier.configuration.maximumMessage }
        #expect(
            limit >= whole.utf8.count && limit < whole.utf8.count + (128 << 10), "room for it, and not for much more")
        line.sockets.application.send(text: whole)
        line.loop.advance(ms: 20)
        #expect(StreamLine.frames(line.atCarrier).count == 1_500 && line.carrier.malformed == 0)
        line.sockets.application.send(text: Self.media(seconds: 30.02, "MZ1"))
        line.loop.advance(ms: 20)
        #expect(StreamLine.frames(line.atCarrier).count == 1_500 && line.carrier.malformed == 1)
        // The stream goes on.
        line.say(.media(StreamLine.tone(0)))
        line.loop.advance(ms: 20)
        #expect(StreamLine.frames(line.atCarrier).count == 1_501)
    }

    /// A carrier sends frames: what is longer than a second is no message of it.
    @Test(arguments: [TwilioDialect.self, SignalWireDialect.self] as [any MediaStreamDialect.Type])
    func asApplicationASecondIsTheMost(dialect: any MediaStreamDialect.Type) throws {
        #expect(dialect.init(DialectOptions(role: .application)).terms.longestMs == 1_000)
    }
}
