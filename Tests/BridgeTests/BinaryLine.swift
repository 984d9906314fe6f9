import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// Both ends of a stream of binary sound in virtual time, and what each has heard.
final class BinaryLine {
    let loop: EventLoop
    let sockets: WebSocketPair
    let carrier: WebSocketMediaStream
    let application: WebSocketMediaStream
    var atCarrier: [MediaStreamMessage] = []
    var atApplication: [MediaStreamMessage] = []

    init(_ dialect: any MediaStreamDialect.Type, format: WireFormat? = nil) throws {
        let loop = try EventLoop.manual()
        self.loop = loop
        let sockets = loop.run { WebSocketPair(on: loop) }
        self.sockets = sockets
        carrier = try loop.run {
            try WebSocketMediaStream(
                sockets.carrier, dialect: dialect, DialectOptions(role: .carrier, format: format))
        }
        application = try loop.run {
            try WebSocketMediaStream(sockets.application, dialect: dialect, DialectOptions(role: .application))
        }
        carrier.onMessage = { [unowned self] in self.atCarrier.append($0) }
        application.onMessage = { [unowned self] in self.atApplication.append($0) }
    }

    deinit {
        carrier.onMessage = nil
        application.onMessage = nil
        let (carrier, application) = (carrier, application)
        loop.run {
            carrier.close()
            application.close()
        }
        loop.advance(ms: 5_000)
        loop.stop()
    }

    /// What the carrier's side says, and what the application's does.
    func tell(_ message: MediaStreamMessage) { loop.run { _ = carrier.send(message) } }
    func say(_ message: MediaStreamMessage) { loop.run { _ = application.send(message) } }

    /// What no dialect of ours says, to the application.
    func tell(text: String) {
        sockets.carrier.send(text: text)
        loop.advance(ms: 20)
    }
    func tell(binary: [UInt8]) {
        sockets.carrier.send(binary: binary)
        loop.advance(ms: 20)
    }
    /// The same to the carrier.
    func say(text: String) {
        sockets.application.send(text: text)
        loop.advance(ms: 20)
    }

    /// A tone of 1 kHz, a frame every 20 ms.
    func speak(_ frames: Int, _ send: (MediaStreamMessage) -> Void) {
        for index in 0..<frames {
            send(.media(Self.tone(index)))
            loop.advance(ms: 20)
        }
    }

    static func tone(_ index: Int) -> EncodedFrame {
        var frame = EncodedFrame()
        for sample in 0..<EncodedFrame.byteCount {
            let at = Double(index * EncodedFrame.byteCount + sample) / 8_000
            frame.bytes[sample] = MuLaw.encode(Int16(8_000 * sin(2 * .pi * 1_000 * at)))
        }
        return frame
    }

    static func frames(_ messages: [MediaStreamMessage]) -> [EncodedFrame] {
        messages.compactMap { if case .media(let frame) = $0 { frame } else { nil } }
    }
    static func marks(_ messages: [MediaStreamMessage]) -> [String] {
        messages.compactMap { if case .mark(let name) = $0 { name } else { nil } }
    }
    static func start(_ messages: [MediaStreamMessage]) -> StreamStart? {
        messages.lazy.compactMap { if case .start(let start) = $0 { start } else { nil } }.first
    }

    /// All but a few of the frames of a tone, as loud as it was and of its pitch.
    static func expectTone(_ messages: [MediaStreamMessage], of sent: Int) {
        let frames = frames(messages)
        #expect((sent - 5...sent + 4).contains(frames.count), "\(frames.count) of \(sent) frames")
        let tone = frames.dropFirst(2).prefix(sent - 8)
        let samples = tone.flatMap { frame in frame.withBytes { $0.map(MuLaw.decode) } }
        let crossings = zip(samples, samples.dropFirst()).count { ($0 < 0) != ($1 < 0) }
        let hertz = Double(crossings) / 2 / (Double(samples.count) / 8_000)
        #expect(abs(hertz - 1_000) < 20, "\(hertz) Hz")
        #expect(tone.allSatisfy { (7_000...9_500).contains($0.peak) })
    }
}

/// A dialect without a stream: messages in, messages out.
struct BareDialect {
    let dialect: any MediaStreamDialect
    let inbox: DialectInbox

    init(_ dialect: any MediaStreamDialect) throws {
        self.dialect = dialect
        inbox = try DialectInbox(dialect.terms)
    }

    func hear(_ text: String) throws -> [MediaStreamMessage] { try hear(Array(text.utf8), .text) }
    func hear(_ bytes: [UInt8], _ kind: WebSocket.Kind = .binary) throws -> [MediaStreamMessage] {
        do {
            try bytes.withUnsafeBufferPointer { try dialect.decode($0, kind, into: inbox) }
        } catch {
            inbox.forget()
            throw error
        }
        return inbox.take()
    }

    func say(_ message: MediaStreamMessage) -> String? {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(for: message))
        let count = buffer.withUnsafeMutableBufferPointer { dialect.encode(message, into: $0) }
        return count.map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }
    func say(sound: [UInt8]) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(forSound: sound.count))
        let count = sound.withUnsafeBufferPointer { sound in
            buffer.withUnsafeMutableBufferPointer { dialect.encode(sound: sound, timestampMs: 0, into: $0) }
        }
        return Array(buffer[..<count])
    }

    /// Messages like `valid`, and none like it, text and binary.
    func hearNoise(like valid: [String], rounds: Int = 5_000) {
        for _ in 0..<rounds {
            var bytes = Array((valid.randomElement() ?? "").utf8)
            for _ in 0..<Int.random(in: 0...4) where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count)))
            _ = try? hear(bytes, Bool.random() ? .text : .binary)
            _ = inbox.takeReplies()
        }
    }
}
