import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

/// A dialect by itself: messages in, messages out.
struct DialectBench {
    let dialect: any MediaStreamDialect
    let inbox: DialectInbox

    init(_ type: any MediaStreamDialect.Type, _ options: DialectOptions) throws {
        dialect = type.init(options)
        inbox = try DialectInbox(dialect.terms)
    }

    /// What the texts say, one after the other.
    @discardableResult
    func hear(_ texts: String...) throws -> [MediaStreamMessage] {
        for text in texts { try hear(Array(text.utf8), .text) }
        return inbox.take()
    }

    func hear(binary bytes: [UInt8]) throws -> [MediaStreamMessage] {
        try hear(bytes, .binary)
        return inbox.take()
    }

    /// What is said before an error is forgotten, as on a stream.
    private func hear(_ bytes: [UInt8], _ kind: WebSocket.Kind) throws {
        do { try bytes.withUnsafeBufferPointer { try dialect.decode($0, kind, into: inbox) } } catch {
            inbox.forget()
            throw error
        }
    }

    /// Why a text is not understood; nil: it is.
    func refusal(of text: String) -> MediaStreamError? {
        do { try hear(text) } catch { return error as? MediaStreamError }
        return nil
    }

    /// The bytes of G.711 sound that the texts have; what they are refused for is left out.
    func sound(_ texts: [String]) -> [UInt8] {
        let heard = texts.flatMap { (try? hear($0)) ?? [] }
        return StreamLine.frames(heard).flatMap { frame in frame.withBytes { Array($0) } }
    }

    func say(_ message: MediaStreamMessage) -> String? { dialect.text(message) }

    func say(sound: [UInt8], timestampMs: UInt32 = 0) -> String {
        String(decoding: bytes(sound: sound, timestampMs: timestampMs), as: UTF8.self)
    }

    /// A message with this sound.
    func bytes(sound: [UInt8], timestampMs: UInt32 = 0) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: dialect.capacity(forSound: sound.count))
        let count = buffer.withUnsafeMutableBufferPointer { target in
            sound.withUnsafeBufferPointer { dialect.encode(sound: $0, timestampMs: timestampMs, into: target) }
        }
        return Array(buffer[..<count])
    }

    /// Nothing that is sent may trap it: bytes of messages changed and cut off.
    func endure(_ valid: [String], _ kinds: [WebSocket.Kind] = [.text], rounds: Int = 3_000) {
        for _ in 0..<rounds {
            var bytes = Array((valid.randomElement() ?? "").utf8)
            for _ in 0..<Int.random(in: 0...4) where !bytes.isEmpty {
                bytes[Int.random(in: bytes.indices)] = UInt8.random(in: .min ... .max)
            }
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count)))
            try? hear(bytes, kinds.randomElement() ?? .text)
            _ = inbox.take()
            _ = inbox.takeReplies()
        }
    }

    /// The object that a text is.
    static func object(_ text: String?) throws -> [String: Any] {
        let data = Data(try #require(text).utf8)
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// The sound in a message with `media.payload`.
    static func payload(_ text: String) throws -> [UInt8] {
        let media = try #require(object(text)["media"] as? [String: Any])
        let payload = try #require(media["payload"] as? String)
        return Array(try #require(Data(base64Encoded: payload)))
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
