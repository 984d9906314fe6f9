internal import Pipeline

@testable internal import Bridge

/// A carrier's dialect, both ends of it.
struct DialectUnderTest: Sendable {
    let name: String
    let make: @Sendable (MediaStreamRole) -> any MediaStreamDialect
}

/// A new dialect is one line.
let dialects: [DialectUnderTest] = [
    DialectUnderTest(name: "twilio") { TwilioDialect(role: $0, streamSid: $0 == .carrier ? "MZ0123456789abcdef" : "") }
]

/// Messages, one a line, to either end. Whatever is understood can be said by the far end, and is then understood as
/// the same.
func fuzzDialect(_ dialect: DialectUnderTest, _ input: FuzzInput) {
    let isCarrier = input.choice(4) == 0
    let (own, other): (MediaStreamRole, MediaStreamRole) =
        isCarrier ? (.carrier, .application) : (.application, .carrier)
    let listener = dialect.make(own)
    let speaker = dialect.make(other), second = dialect.make(own)
    var frames: [EncodedFrame] = []
    for line in input.lines {
        var messages: [MediaStreamMessage] = []
        let isUnderstood = withBuffer(line) { bytes in (try? listener.decode(bytes, into: &messages)) != nil }
        expect(messages.count <= 1 + line.count / 200, "a message of \(line.count) bytes became \(messages.count)")
        expect(isUnderstood || messages.isEmpty, "refused, and yet something was said")
        for message in messages {
            if case .media(let frame) = message {
                frames.append(frame)
                continue
            }
            guard let text = encoded(message, by: speaker) else { continue }
            var heard: [MediaStreamMessage] = []
            let isHeard = withBuffer(text) { bytes in (try? second.decode(bytes, into: &heard)) != nil }
            expect(
                isHeard && heard.count == 1,
                "what \(dialect.name) says is not understood: \(String(decoding: text, as: UTF8.self))")
            if case .start = message { continue }  // ids are made plain
            expect(heard.first == message, "\(message) became \(heard)")
        }
    }
    sound(frames, from: speaker, to: second)
}

private func sound(_ frames: [EncodedFrame], from speaker: any MediaStreamDialect, to listener: any MediaStreamDialect)
{
    var rest = frames.prefix(40)[...]
    while !rest.isEmpty {
        let batch = Array(rest.prefix(speaker.framesPerMessage))
        rest = rest.dropFirst(batch.count)
        var target = [UInt8](repeating: 0, count: speaker.capacity(forFrames: batch.count))
        let length = batch.withUnsafeBufferPointer { frames in
            target.withUnsafeMutableBufferPointer { speaker.encode(frames, into: $0) }
        }
        var heard: [MediaStreamMessage] = []
        let isHeard = withBuffer(target[..<length]) { bytes in (try? listener.decode(bytes, into: &heard)) != nil }
        // An application that has heard no `start` takes no media; all else must arrive byte for byte.
        guard isHeard else { continue }
        let bytes = heard.compactMap { message -> [UInt8]? in
            guard case .media(let frame) = message else { return nil }
            return frame.withBytes { Array($0) }
        }
        expect(bytes == batch.map { $0.withBytes { Array($0) } }, "sound changed on its way")
    }
}

/// What the dialect writes, in a buffer of exactly the size that it asks for.
private func encoded(_ message: MediaStreamMessage, by dialect: any MediaStreamDialect) -> [UInt8]? {
    var target = [UInt8](repeating: 0, count: dialect.capacity(for: message))
    guard let length = target.withUnsafeMutableBufferPointer({ dialect.encode(message, into: $0) }) else { return nil }
    return Array(target[..<length])
}
