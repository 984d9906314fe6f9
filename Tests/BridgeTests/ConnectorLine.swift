import Foundation
import Net
import Pipeline
import TestSupport

@testable import Bridge

/// Both ends of a stream in a dialect, in virtual time: an application that lets every stream in, as the stream server
/// does, and a carrier, which may be a `ScriptedCaller`.
final class ConnectorLine {
    static let start = StreamStart(
        streamID: "11111111-2222-4333-8444-555555555555", callID: "66666666-7777-4888-9999-000000000000",
        parameters: ["k": "v \"1\"", "from": "+4930", "to": "+4940"])

    let loop: EventLoop
    let sockets: WebSocketPair
    let carrier: WebSocketMediaStream
    let application: WebSocketMediaStream
    var atCarrier: [MediaStreamMessage] = []
    var atApplication: [MediaStreamMessage] = []

    init(
        _ dialect: any MediaStreamDialect.Type, format: WireFormat? = nil, handshake: WebSocket.Handshake? = nil
    ) throws {
        let loop = try EventLoop.manual()
        self.loop = loop
        let sockets = loop.run { WebSocketPair(on: loop) }
        self.sockets = sockets
        carrier = try loop.run {
            try WebSocketMediaStream(
                sockets.carrier, dialect: dialect, DialectOptions(role: .carrier, format: format))
        }
        application = try loop.run {
            try WebSocketMediaStream(
                sockets.application, dialect: dialect, DialectOptions(role: .application, handshake: handshake))
        }
        carrier.onMessage = { [unowned self] in self.atCarrier.append($0) }
        application.onMessage = { [unowned self] message in
            self.atApplication.append(message)
            if case .start = message { self.application.send(message) }
        }
    }

    /// The carrier begins, and is let in.
    func open() {
        tell(.start(Self.start))
        pass()
    }
    @discardableResult
    func tell(_ message: MediaStreamMessage) -> Bool { loop.run { carrier.send(message) } }
    @discardableResult
    func say(_ message: MediaStreamMessage) -> Bool { loop.run { application.send(message) } }
    /// What no dialect of ours would say, from the carrier.
    func inject(_ texts: String...) {
        for text in texts { sockets.carrier.send(text: text) }
        pass()
    }
    func pass(ms: Int = 20) { loop.advance(ms: ms) }

    /// Frames of a tone, a frame every 20 ms.
    func speak(_ frames: Int, _ send: (MediaStreamMessage) -> Void) {
        for _ in 0..<frames {
            send(.media(Self.tone))
            pass()
        }
    }

    /// 20 ms of 1 kHz.
    static let tone: EncodedFrame = {
        var frame = EncodedFrame()
        for sample in 0..<EncodedFrame.byteCount {
            frame.bytes[sample] = MuLaw.encode(Int16(8_000 * sin(2 * .pi * Double(sample) / 8)))
        }
        return frame
    }()

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
        loop.advance(ms: 6_000)
        loop.stop()
    }
}

extension MediaStreamDialect {
    /// What this says, by itself.
    func text(_ message: MediaStreamMessage) -> String? {
        var buffer = [UInt8](repeating: 0, count: capacity(for: message))
        let count = buffer.withUnsafeMutableBufferPointer { encode(message, into: $0) }
        return count.map { String(decoding: buffer[..<$0], as: UTF8.self) }
    }

    /// What this makes of messages, one after the other; each is told apart.
    func hear(_ inbox: DialectInbox, _ texts: String...) throws -> [MediaStreamMessage] {
        for text in texts { try Array(text.utf8).withUnsafeBufferPointer { try decode($0, .text, into: inbox) } }
        return inbox.take()
    }

    func hear(_ inbox: DialectInbox, binary: [UInt8]) throws -> [MediaStreamMessage] {
        try binary.withUnsafeBufferPointer { try decode($0, .binary, into: inbox) }
        return inbox.take()
    }

    /// The refusal with which a message ends the stream; nil: it does not.
    func refusal(_ inbox: DialectInbox, _ text: String) -> StreamRefusal? {
        do { _ = try hear(inbox, text) } catch { return (error as? MediaStreamError)?.refusal }
        return nil
    }
}
