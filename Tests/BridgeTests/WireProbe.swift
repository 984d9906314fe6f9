import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// One end of a dialect, alone: messages in, messages out.
final class WireProbe {
    let dialect: any MediaStreamDialect
    let inbox: DialectInbox

    init(_ type: any MediaStreamDialect.Type, _ options: DialectOptions) throws {
        dialect = type.init(options)
        inbox = try DialectInbox(dialect.terms)
    }

    /// What the texts say, one after the other.
    @discardableResult
    func hear(_ texts: String...) throws -> [MediaStreamMessage] {
        for text in texts {
            try Array(text.utf8).withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
        }
        return inbox.take()
    }

    /// Why a text is not understood; nil: it is.
    func refusal(of text: String) -> MediaStreamError? {
        do {
            try hear(text)
            return nil
        } catch { return error as? MediaStreamError }
    }

    func say(_ message: MediaStreamMessage) -> String? {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(for: message))
        let count = buffer.withUnsafeMutableBufferPointer { dialect.encode(message, into: $0) }
        return count.map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }

    func say(sound: [UInt8], at timestampMs: UInt32 = 0) -> String {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(forSound: sound.count))
        let count = buffer.withUnsafeMutableBufferPointer { target in
            sound.withUnsafeBufferPointer { dialect.encode(sound: $0, timestampMs: timestampMs, into: target) }
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    static func object(_ text: String?) throws -> [String: Any] {
        let data = Data(try #require(text).utf8)
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// Mutations of valid messages, whatever they mean: nothing may trap.
    func hearMutations(of texts: [String], count: Int = 3_000) {
        for _ in 0..<count {
            var bytes = Array((texts.randomElement() ?? "").utf8)
            for _ in 0..<Int.random(in: 1...4) {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count)))
            try? bytes.withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
            _ = inbox.take()
            _ = inbox.takeReplies()
        }
    }
}

/// Both ends of a stream over a socket in memory, in virtual time, and what each has heard.
final class StreamEnds {
    let loop: EventLoop
    let sockets: WebSocketPair
    let carrier: WebSocketMediaStream
    let application: WebSocketMediaStream
    var atCarrier: [MediaStreamMessage] = []
    var atApplication: [MediaStreamMessage] = []
    /// Called for what the carrier hears, before it is noted.
    var onCarrier: ((MediaStreamMessage) -> Void)?

    init(_ dialect: any MediaStreamDialect.Type, _ carried: DialectOptions, _ applied: DialectOptions) throws {
        let loop = try EventLoop.manual()
        self.loop = loop
        let sockets = loop.run { WebSocketPair(on: loop) }
        self.sockets = sockets
        carrier = try loop.run { try WebSocketMediaStream(sockets.carrier, dialect: dialect, carried) }
        application = try loop.run { try WebSocketMediaStream(sockets.application, dialect: dialect, applied) }
        carrier.onMessage = { [unowned self] in
            self.onCarrier?($0)
            self.atCarrier.append($0)
        }
        application.onMessage = { [unowned self] in self.atApplication.append($0) }
    }

    @discardableResult
    func tell(_ message: MediaStreamMessage) -> Bool { loop.run { carrier.send(message) } }
    @discardableResult
    func say(_ message: MediaStreamMessage) -> Bool { loop.run { application.send(message) } }

    /// A tone, a frame every 20 ms, and 600 ms for what waits in resamplers and messages.
    func speak(_ frames: Int, _ send: (MediaStreamMessage) -> Void) {
        for index in 0..<frames {
            send(.media(Self.tone(index)))
            loop.advance(ms: 20)
        }
        loop.advance(ms: 600)
    }

    static func tone(_ index: Int) -> EncodedFrame {
        var frame = EncodedFrame()
        for sample in 0..<EncodedFrame.byteCount {
            let at = Double(index * EncodedFrame.byteCount + sample) / 8_000
            frame.bytes[sample] = MuLaw.encode(Int16(8_000 * sin(2 * .pi * 1_000 * at)))
        }
        return frame
    }

    /// Frames in which the tone is as loud as it was said.
    static func loud(_ messages: [MediaStreamMessage]) -> Int {
        messages.count { if case .media(let frame) = $0 { (7_000...9_500).contains(frame.peak) } else { false } }
    }
    static func marks(_ messages: [MediaStreamMessage]) -> [String] {
        messages.compactMap { if case .mark(let name) = $0 { name } else { nil } }
    }
    /// Bytes of sound in each message that this end has sent; `event` is its name for them.
    static func sizes(_ end: WebSocketPair.End, _ event: String) -> [Int] {
        end.texts.compactMap { text in
            guard let object = try? WireProbe.object(text), object["event"] as? String == event,
                let payload = (object["media"] as? [String: Any])?["payload"] as? String
            else { return nil }
            return Data(base64Encoded: payload)?.count
        }
    }

    deinit {
        carrier.onMessage = nil
        application.onMessage = nil
        let (carrier, application) = (carrier, application)
        loop.run {
            carrier.close()
            application.close()
        }
        loop.advance(ms: 100)
        loop.stop()
    }
}
