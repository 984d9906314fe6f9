internal import Foundation

/// One event of a `text/event-stream`.
public struct ServerSentEvent: Sendable, Equatable {
    /// `message` where the stream names none.
    public var name = "message"
    public var data = ""
    /// The last id that the stream has told.
    public var id: String?
    public init(name: String = "message", data: String = "", id: String? = nil) {
        self.name = name
        self.data = data
        self.id = id
    }
}

/// Bytes → events (WHATWG HTML, §9.2.6), however the bytes are cut.
public struct ServerSentEventParser: Sendable {
    /// Bytes of one event.
    public static let eventLimit = 1 << 20

    private var line: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var name = ""
    private var id: String?
    private var isAfterReturn = false
    private var isFirstLine = true

    public init() {}

    /// - Throws: `NetError.tooBig` for an event of more than `eventLimit` bytes.
    public mutating func process(_ bytes: some Sequence<UInt8>, into events: inout [ServerSentEvent]) throws(NetError) {
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\n") where isAfterReturn: isAfterReturn = false  // the second half of CR LF
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                isAfterReturn = byte == UInt8(ascii: "\r")
                lineEnded(&events)
            default:
                isAfterReturn = false
                line.append(byte)
                guard line.count + data.count <= Self.eventLimit else {
                    throw NetError(.tooBig, "an event of the stream has more than \(Self.eventLimit) bytes")
                }
            }
        }
    }

    private mutating func lineEnded(_ events: inout [ServerSentEvent]) {
        defer { line.removeAll(keepingCapacity: true) }
        var content = line[...]
        if isFirstLine, content.starts(with: [0xEF, 0xBB, 0xBF]) { content = content.dropFirst(3) }
        isFirstLine = false
        guard !content.isEmpty else { return dispatch(&events) }
        let colon = content.firstIndex(of: UInt8(ascii: ":")) ?? content.endIndex
        guard colon > content.startIndex else { return }  // a comment
        var value = content[min(colon + 1, content.endIndex)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: content[..<colon], as: UTF8.self) {
        case "data":
            if hasData { data.append(UInt8(ascii: "\n")) }
            hasData = true
            data += value
        case "event": name = String(decoding: value, as: UTF8.self)
        case "id": if !value.contains(0) { id = String(decoding: value, as: UTF8.self) }
        default: break  // `retry` concerns clients that reconnect; unknown fields are ignored (WHATWG HTML, 9.2.6)
        }
    }

    private mutating func dispatch(_ events: inout [ServerSentEvent]) {
        if hasData {
            events.append(
                ServerSentEvent(
                    name: name.isEmpty ? "message" : name, data: String(decoding: data, as: UTF8.self), id: id))
        }
        data.removeAll(keepingCapacity: true)
        hasData = false
        name = ""
    }
}

/// The events of a response's body. An event that is not complete when the body ends is dropped, as the standard wants
/// it.
public struct ServerSentEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    let body: HTTPBody

    public struct AsyncIterator: AsyncIteratorProtocol {
        var body: HTTPBody.AsyncIterator
        private var parser = ServerSentEventParser()
        private var ready: ArraySlice<ServerSentEvent> = []

        init(_ body: HTTPBody.AsyncIterator) { self.body = body }

        public mutating func next() async throws -> ServerSentEvent? {
            while ready.isEmpty {
                guard let bytes = try await body.next() else { return nil }
                var events: [ServerSentEvent] = []
                try parser.process(bytes, into: &events)
                ready = events[...]
            }
            return ready.removeFirst()
        }
    }
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body.makeAsyncIterator()) }
}
