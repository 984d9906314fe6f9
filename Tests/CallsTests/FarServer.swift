import Bridge
import Foundation
import Net
import Pipeline
import TestSupport

/// The far end of a media stream of ours, in Twilio's dialect: what it has heard, and what it says.
final class FarServer {
    private var end: WebSocketPair.End?
    private let loop: EventLoop
    private(set) var texts: [String] = []
    private(set) var closedWith: Int?

    /// Lets a stream in.
    init(_ asked: ScriptedStreams.Asked, on loop: EventLoop) {
        self.loop = loop
        asked.accept { end in
            self.end = end
            end.onMessage = { [weak self] bytes, _ in self?.texts.append(String(decoding: bytes, as: UTF8.self)) }
            end.onClose = { [weak self] code, _ in self?.closedWith = code }
        }
    }

    /// Messages of this event.
    func heard(_ event: String) -> [String] { texts.filter { $0.contains(#""event":"\#(event)""#) } }

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
