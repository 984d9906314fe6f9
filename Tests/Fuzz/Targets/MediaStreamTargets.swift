internal import Net
internal import Pipeline

@testable internal import Bridge

/// Messages, one a line, to either end. Whatever is understood can be said by the far end, and is then understood as
/// the same. Every dialect of `Dialects.all` is a target.
func fuzzDialect(_ dialect: any MediaStreamDialect.Type, _ input: FuzzInput) {
    let isCarrier = input.choice(4) == 0
    let (own, other): (MediaStreamRole, MediaStreamRole) =
        isCarrier ? (.carrier, .application) : (.application, .carrier)
    let listener = dialect.init(DialectOptions(role: own))
    let speaker = dialect.init(DialectOptions(role: other, streamID: "MZ0123456789abcdef"))
    let second = dialect.init(DialectOptions(role: own))
    guard let inbox = try? DialectInbox(listener.terms), let secondInbox = try? DialectInbox(second.terms) else {
        return expect(false, "the terms of \(dialect.traits.name) cannot be converted")
    }
    // A carrier has said that the stream begins, and the application has heard it.
    if isCarrier {
        let start = MediaStreamMessage.start(StreamStart(streamID: "MZ0123456789abcdef", callID: "CA1"))
        if let text = encoded(start, by: listener), let speakerInbox = try? DialectInbox(speaker.terms) {
            _ = withBuffer(text) { bytes in try? speaker.decode(bytes, .text, into: speakerInbox) }
        }
        _ = encoded(start, by: second)
    }
    var frames: [EncodedFrame] = []
    // Messages that those so far may have become: what one holds back may come with another.
    var allowance = 0
    let frameBytes = listener.terms.incoming.bytes(ofMs: EncodedFrame.milliseconds)
    for line in input.lines {
        let kind: WebSocket.Kind = dialect.traits.accepts.contains(.text) ? .text : .binary
        let isUnderstood = withBuffer(line) { bytes in (try? listener.decode(bytes, kind, into: inbox)) != nil }
        let messages = inbox.take()
        allowance += 1 + line.count / min(200, frameBytes)
        let heard = messages.count { if case .media = $0 { true } else { false } }
        expect(
            heard <= allowance && messages.count - heard <= 1 + line.count,
            "a message of \(line.count) bytes became \(messages.count)")
        allowance -= heard
        expect(isUnderstood || messages.isEmpty, "refused, and yet something was said")
        for message in messages {
            if case .media(let frame) = message {
                frames.append(frame)
                continue
            }
            guard let text = encoded(message, by: speaker) else { continue }
            let isHeard = withBuffer(text) { bytes in (try? second.decode(bytes, .text, into: secondInbox)) != nil }
            let heard = secondInbox.take()
            expect(
                isHeard && heard.count == 1,
                "what \(dialect.traits.name) says is not understood: \(String(decoding: text, as: UTF8.self))")
            if case .start = message { continue }  // ids are made plain
            expect(heard.first == message, "\(message) became \(heard)")
        }
    }
    sound(frames, from: speaker, to: second, secondInbox)
}

/// What passes as it is must arrive byte for byte.
private func sound(
    _ frames: [EncodedFrame], from speaker: any MediaStreamDialect, to listener: any MediaStreamDialect,
    _ inbox: DialectInbox
) {
    guard speaker.terms.outgoing == .muLaw8k, listener.terms.incoming == .muLaw8k else { return }
    let kind = type(of: speaker).traits.soundKind
    var rest = frames.prefix(40)[...]
    while !rest.isEmpty {
        let batch = Array(rest.prefix(speaker.terms.chunks.frames))
        rest = rest.dropFirst(batch.count)
        let bytes = batch.flatMap { frame in frame.withBytes { Array($0) } }
        var target = [UInt8](repeating: 0, count: speaker.capacity(forSound: bytes.count))
        let length = bytes.withUnsafeBufferPointer { bytes in
            target.withUnsafeMutableBufferPointer { speaker.encode(sound: bytes, timestampMs: 0, into: $0) }
        }
        // No sound yet, or no more.
        guard length >= 0 else { continue }
        let isHeard = withBuffer(target[..<length]) { bytes in (try? listener.decode(bytes, kind, into: inbox)) != nil }
        let messages = inbox.take()
        // An application that has heard no `start` takes no media.
        guard isHeard else { continue }
        let heard = messages.flatMap { message -> [UInt8] in
            guard case .media(let frame) = message else { return [] }
            return frame.withBytes { Array($0) }
        }
        expect(heard == bytes, "sound changed on its way")
    }
}

/// What the dialect writes, in a buffer of exactly the size that it asks for.
private func encoded(_ message: MediaStreamMessage, by dialect: any MediaStreamDialect) -> [UInt8]? {
    var target = [UInt8](repeating: 0, count: dialect.capacity(for: message))
    guard let length = target.withUnsafeMutableBufferPointer({ dialect.encode(message, into: $0) }) else { return nil }
    return Array(target[..<length])
}
