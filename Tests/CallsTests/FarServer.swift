import Bridge
import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Calls

/// The far end of a media stream of ours: what it has heard, and what it says; sound and marks as Twilio has them.
final class FarServer {
    private var end: WebSocketPair.End?
    private let loop: EventLoop
    private(set) var texts: [String] = []
    /// Bytes of binary messages.
    private(set) var soundBytes = 0
    private(set) var closedWith: Int?

    /// Lets a stream in.
    init(_ asked: ScriptedStreams.Asked, on loop: EventLoop) {
        self.loop = loop
        asked.accept { end in
            self.end = end
            end.onMessage = { [weak self] bytes, kind in
                switch kind {
                case .text: self?.texts.append(String(decoding: bytes, as: UTF8.self))
                case .binary: self?.soundBytes += bytes.count
                }
            }
            end.onClose = { [weak self] code, _ in self?.closedWith = code }
        }
    }

    /// Messages of this event.
    func heard(_ event: String) -> [String] { texts.filter { $0.contains(#""event":"\#(event)""#) } }

    func say(binary: [UInt8]) { loop.run { end?.send(binary: binary) } }

    func say(_ text: String) { loop.run { end?.send(text: text) } }

    /// A loud tone of this length.
    func speak(ms: Int) {
        var bytes: [UInt8] = []
        for frame in Signals.tone(hertz: 440, amplitude: 8_000, ms: ms, rate: 8_000) {
            frame.withSamples { for sample in $0 { bytes.append(MuLaw.encode(sample)) } }
        }
        say(#"{"event":"media","media":{"payload":"\#(Data(bytes).base64EncodedString())"}}"#)
    }

    func mark(_ name: String) { say(#"{"event":"mark","mark":{"name":"\#(name)"}}"#) }

    func close(_ code: UInt16 = 1_000) { loop.run { end?.close(code: code) } }
}

extension SIPWorld {
    /// Calls are streamed to another server.
    static func streamed(_ settings: inout CallSettings) { settings.bridge.streamURL = "ws://agent.test/x" }

    /// An answered call whose stream is open.
    func connect(
        stream: Call.Stream? = nil
    ) async throws -> (call: Running, phone: ScriptedPhone, server: FarServer) {
        let call = try await dial(stream: stream)
        let phone = try #require(phones.called.first)
        try phone.answer()
        let server = FarServer(try #require(streams.asked.first), on: loop)
        loop.advance(ms: 40)
        return (call, phone, server)
    }
}
