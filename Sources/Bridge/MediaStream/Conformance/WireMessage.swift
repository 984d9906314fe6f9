internal import Foundation
public import Net

/// A message of a stream as it was on the wire, read by `WireShape` alone.
public struct WireMessage: Sendable {
    public enum Sender: Sendable { case carrier, application }

    public var sender: Sender
    /// Counted from 1, of this sender's.
    public var number: Int
    /// Milliseconds since the stream was open.
    public var atMs: UInt64
    public var kind: WebSocket.Kind
    /// Bytes.
    public var size: Int
    /// Of a text message; nil: it is not JSON.
    public var json: WireValue?
    /// nil: it has none, or is binary.
    public var name: String?
    /// Of a text message that is one line: what follows its name.
    public var rest: String?
    /// Of a message of sound, in the wire's format; nil: it has none, or its Base64 is broken.
    public var sound: [UInt8]?
    /// It has a text where sound is to be.
    public var hasPayload = false

    public init(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, from sender: Sender, number: Int, atMs: UInt64,
        _ shape: WireShape
    ) {
        self.sender = sender
        self.number = number
        self.atMs = atMs
        self.kind = kind
        size = bytes.count
        guard kind == .text else {
            sound = shape.soundPath == nil ? Array(bytes) : nil
            return
        }
        json = WireValue(bytes)
        if let json, json.isObject {
            name = shape.nameKeys.lazy.compactMap { json[$0]?.text }.first
        } else if shape.text == .jsonOrLine, json == nil {
            let line = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            let parts = line.split(separator: " ", maxSplits: 1)
            guard let first = parts.first, first.allSatisfy({ $0.isASCII && ($0.isUppercase || $0 == "_") }) else {
                return
            }
            name = String(first)
            rest = parts.count > 1 ? String(parts[1]) : nil
        }
        guard let path = shape.soundPath, let payload = json?[path]?.text else { return }
        hasPayload = true
        sound = Data(base64Encoded: payload).map { Array($0) }
    }

    /// How a finding calls it.
    var words: String {
        let what = kind == .binary ? "binary" : name.map { String($0.printable.prefix(40)) } ?? "text"
        return "message \(number) (\(what))"
    }
}

extension String {
    /// Without what would control a terminal.
    var printable: String {
        String(
            String.UnicodeScalarView(unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }))
    }
}
