import Foundation
import Net
import Pipeline
import TestSupport
import Testing

@testable import Bridge

/// A dialect by itself: texts in, messages out.
struct DialectBench {
    let dialect: any MediaStreamDialect
    let inbox: DialectInbox

    init(_ type: any MediaStreamDialect.Type, _ options: DialectOptions) throws {
        dialect = type.init(options)
        inbox = try DialectInbox(dialect.terms)
    }

    /// What the texts say, one after the other.
    func hear(_ texts: String...) throws -> [MediaStreamMessage] {
        for text in texts {
            try Array(text.utf8).withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
        }
        return inbox.take()
    }

    /// The bytes of G.711 sound that the texts have; what they are refused for is left out.
    func sound(_ texts: [String]) -> [UInt8] {
        for text in texts {
            try? Array(text.utf8).withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
        }
        return inbox.take().flatMap { message -> [UInt8] in
            if case .media(let frame) = message { frame.withBytes { Array($0) } } else { [] }
        }
    }

    func say(_ message: MediaStreamMessage) -> String? {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(for: message))
        let count = buffer.withUnsafeMutableBufferPointer { dialect.encode(message, into: $0) }
        return count.map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }

    func say(sound: [UInt8], timestampMs: UInt32 = 0) -> String {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(forSound: sound.count))
        let count = buffer.withUnsafeMutableBufferPointer { target in
            sound.withUnsafeBufferPointer { dialect.encode(sound: $0, timestampMs: timestampMs, into: target) }
        }
        return String(decoding: buffer[..<count], as: UTF8.self)
    }

    /// Nothing that is sent may trap it: bytes of a message changed, cut off and repeated.
    func endure(_ valid: [String], rounds: Int = 3_000) {
        for _ in 0..<rounds {
            var bytes = Array((valid.randomElement() ?? "").utf8)
            for _ in 0..<Int.random(in: 1...4) where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count)))
            try? bytes.withUnsafeBufferPointer { try dialect.decode($0, .text, into: inbox) }
            _ = inbox.take()
        }
    }

    /// The object that a text is.
    static func object(_ text: String) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// The sound in a message with `media.payload`.
    static func payload(_ text: String) throws -> [UInt8] {
        let media = try #require(object(text)["media"] as? [String: Any])
        let payload = try #require(media["payload"] as? String)
        return Array(try #require(Data(base64Encoded: payload)))
    }
}

/// Both ends of a media stream in a dialect, in virtual time, and what each has heard.
final class DialectLine {
    let loop: EventLoop
    let sockets: WebSocketPair
    let carrier: WebSocketMediaStream
    let application: WebSocketMediaStream
    var atCarrier: [MediaStreamMessage] = []
    var atApplication: [MediaStreamMessage] = []

    init(
        _ dialect: any MediaStreamDialect.Type, carrier carrierOptions: DialectOptions = DialectOptions(role: .carrier),
        application options: DialectOptions = DialectOptions(role: .application)
    ) throws {
        let loop = try EventLoop.manual()
        self.loop = loop
        let sockets = loop.run { WebSocketPair(on: loop) }
        self.sockets = sockets
        carrier = try loop.run { try WebSocketMediaStream(sockets.carrier, dialect: dialect, carrierOptions) }
        application = try loop.run { try WebSocketMediaStream(sockets.application, dialect: dialect, options) }
        carrier.onMessage = { [unowned self] in self.atCarrier.append($0) }
        application.onMessage = { [unowned self] in self.atApplication.append($0) }
    }

    func tell(_ message: MediaStreamMessage) { loop.run { _ = carrier.send(message) } }
    @discardableResult
    func say(_ message: MediaStreamMessage) -> Bool { loop.run { application.send(message) } }

    /// What no carrier of ours would send.
    func deliver(_ texts: String...) {
        for text in texts { sockets.carrier.send(text: text) }
        loop.advance(ms: 20)
    }

    /// A tone of 1 kHz, a frame every 20 ms.
    func speak(_ frames: Int, _ send: (MediaStreamMessage) -> Void) {
        for index in 0..<frames {
            send(.media(Self.tone(index)))
            loop.advance(ms: 20)
        }
    }

    /// A tone goes through in full and as loud as it was, both ways.
    func expectSoundBothWays() {
        speak(40) { tell($0) }
        speak(40) { say($0) }
        for heard in [Self.frames(atApplication), Self.frames(atCarrier)] {
            #expect((36...40).contains(heard.count), "\(heard.count) of 40 frames")
            let peaks = heard.dropFirst(3).dropLast().map(\.peak)
            #expect(peaks.allSatisfy { (6_500...9_500).contains($0) }, "\(peaks)")
        }
    }

    static func tone(_ index: Int) -> EncodedFrame {
        var frame = EncodedFrame(timestampMs: UInt32(20 * index))
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

    deinit {
        carrier.onMessage = nil
        application.onMessage = nil
        let (carrier, application) = (carrier, application)
        loop.run {
            carrier.close()
            application.close()
        }
        loop.advance(ms: 2_000)
        loop.stop()
    }
}
