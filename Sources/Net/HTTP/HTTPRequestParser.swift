/// Reads HTTP/1.1 requests from a stream of bytes, strictly (RFC 9112).
///
/// libwebsockets is tolerant where tolerance is dangerous: it takes requests with two lengths, folded fields and bare
/// line feeds, and cannot read a chunked body. So the server reads requests with this parser, and nothing else does.
/// A pure value: bytes in by `append`, steps out by `next`. However the bytes are cut, the steps are the same.
///
///     request line → fields → (head) → body of known length, or chunks and trailer → (body) → request line …
public struct HTTPRequestParser: Sendable {
    /// Bytes of a request line; more is 414 (RFC 9112 §3 asks for 8 000 at least).
    public static let requestLineLimit = 8_192
    /// Bytes of all fields together, and how many there may be; more is 431.
    public static let fieldsLimit = 16_384
    public static let fieldCountLimit = 100
    /// Bytes of the line with a chunk's size, and of all trailer fields of a body.
    public static let chunkLineLimit = 256
    public static let trailerLimit = 4_096
    /// Empty lines before a request that are passed over (RFC 9112 §2.2).
    public static let emptyLineLimit = 4
    /// Maximum bytes of a method; no registered method is longer.
    static let methodLimit = 24

    public enum Step: Sendable {
        /// More bytes are needed.
        case incomplete
        /// A request's head is complete. Set `bodyLimit` for it before the next step.
        case head(HTTPRequestHead)
        /// The body of that request, possibly empty: the request is complete.
        case body([UInt8])
        /// The connection cannot be read any further; every later step is the same failure.
        case failure(HTTPFailure)
    }

    private enum State {
        case requestLine(emptyLines: Int)
        case fields
        case body(HTTPRequestHead.BodyLength)
        case fixed(remaining: Int)
        case chunkSize
        case chunk(remaining: Int)
        case chunkEnd
        case trailer(bytes: Int)
        case failed(HTTPFailure)
    }

    /// Bytes that the body of the current request may have; more is 413.
    public var bodyLimit = 0
    private var state = State.requestLine(emptyLines: 0)
    private var buffer: [UInt8] = []
    /// Where unread bytes begin, and up to where they have been searched for the end of a line.
    private var start = 0
    private var searched = 0
    private var line = RequestLine()
    private var fields = HTTPFields()
    private var body: [UInt8] = []

    public init() {}

    /// Bytes that have come and are not read yet.
    public var unreadCount: Int { buffer.count - start }
    /// Bytes that are kept: of a body that is not complete, and those that are not read yet.
    public var heldCount: Int { body.count + unreadCount }
    /// A request has begun and is not complete.
    public var isInsideRequest: Bool {
        if case .requestLine = state { return unreadCount > 0 }
        return true
    }

    /// What has come behind the requests that were read: for the protocol that the connection goes on with.
    public mutating func takeUnread() -> [UInt8] {
        defer { discardRead(all: true) }
        return Array(buffer[start...])
    }

    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        discardRead(all: false)
        buffer.append(contentsOf: bytes)
    }

    private mutating func discardRead(all: Bool) {
        guard start > 0 || all else { return }
        if all || start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 65_536)
        } else {
            buffer.removeFirst(start)
        }
        searched = all ? 0 : searched - start
        start = 0
    }

    /// Reads on as far as the next thing that is complete.
    public mutating func next() -> Step {
        do throws(HTTPFailure) {
            while true {
                switch state {
                case .requestLine(let emptyLines):
                    guard let range = try nextLine(limit: Self.requestLineLimit, tooLong: Self.longRequestLine) else {
                        return .incomplete
                    }
                    guard !range.isEmpty else {
                        guard emptyLines < Self.emptyLineLimit else { throw .badRequest("there is no request line") }
                        state = .requestLine(emptyLines: emptyLines + 1)
                        continue
                    }
                    line = try RequestLine(buffer[range])
                    fields = HTTPFields()
                    state = .fields
                case .fields:
                    let room = max(0, Self.fieldsLimit - fields.byteCount)
                    guard let range = try nextLine(limit: room, tooLong: Self.longFields) else { return .incomplete }
                    guard !range.isEmpty else {
                        let head = try HTTPRequestHead(line, fields)
                        state = .body(head.bodyLength)
                        bodyLimit = 0
                        return .head(head)
                    }
                    guard fields.count < Self.fieldCountLimit else {
                        throw HTTPFailure(431, "the request has more than \(Self.fieldCountLimit) header fields")
                    }
                    try fields.add(buffer[range])
                case .body(.none):
                    state = .requestLine(emptyLines: 0)
                    return .body([])
                case .body(.known(let length)):
                    guard length <= bodyLimit else { throw tooLarge }
                    body.reserveCapacity(length)
                    state = .fixed(remaining: length)
                case .body(.chunked): state = .chunkSize
                case .fixed(let remaining):
                    let rest = remaining - take(remaining)
                    state = .fixed(remaining: rest)
                    guard rest == 0 else { return .incomplete }
                    return completed()
                case .chunkSize:
                    guard let range = try nextLine(limit: Self.chunkLineLimit, tooLong: Self.longChunkLine) else {
                        return .incomplete
                    }
                    let size = try Self.chunkSize(buffer[range])
                    guard size <= bodyLimit - body.count else { throw tooLarge }
                    state = size == 0 ? .trailer(bytes: 0) : .chunk(remaining: size)
                case .chunk(let remaining):
                    let rest = remaining - take(remaining)
                    state = rest == 0 ? .chunkEnd : .chunk(remaining: rest)
                    guard rest == 0 else { return .incomplete }
                case .chunkEnd:
                    guard let range = try nextLine(limit: 0, tooLong: Self.wrongChunk) else { return .incomplete }
                    guard range.isEmpty else { throw Self.wrongChunk }
                    state = .chunkSize
                case .trailer(let bytes):
                    guard let range = try nextLine(limit: Self.trailerLimit - bytes, tooLong: Self.longFields) else {
                        return .incomplete
                    }
                    guard !range.isEmpty else { return completed() }
                    // Checked as a field, and not used (RFC 9112 §7.1.2).
                    var ignored = HTTPFields()
                    try ignored.add(buffer[range])
                    state = .trailer(bytes: bytes + range.count)
                case .failed(let failure): return .failure(failure)
                }
            }
        } catch {
            state = .failed(error)
            body = []
            discardRead(all: true)
            return .failure(error)
        }
    }

    private mutating func completed() -> Step {
        defer { body = [] }
        state = .requestLine(emptyLines: 0)
        return .body(body)
    }

    /// Moves up to so many bytes into the body.
    private mutating func take(_ most: Int) -> Int {
        let count = min(most, unreadCount)
        body.append(contentsOf: buffer[start..<start + count])
        start += count
        searched = start
        return count
    }

    /// The next line without its CRLF; nil: it is not complete. A line ends with CRLF and holds no other control
    /// character but a tab.
    private mutating func nextLine(limit: Int, tooLong: HTTPFailure) throws(HTTPFailure) -> Range<Int>? {
        while searched < buffer.count {
            let byte = buffer[searched]
            let followsCR = searched > start && buffer[searched - 1] == 0x0D
            if byte == 0x0A {
                guard followsCR else { throw .badRequest("a line ends without a carriage return") }
                let range = start..<searched - 1
                searched += 1
                start = searched
                guard range.count <= limit else { throw tooLong }
                return range
            }
            guard !followsCR else { throw .badRequest("a carriage return stands inside a line") }
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 || byte == 0x0D else {
                throw .badRequest("a line holds a control character")
            }
            searched += 1
        }
        guard unreadCount <= max(0, limit) + 1 else { throw tooLong }
        return nil
    }

    /// Hex digits, then extensions that are passed over (RFC 9112 §7.1.1).
    private static func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPFailure) -> Int {
        let digits = line.prefix { RequestTarget.hexValue($0) != nil }
        let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        // Seven digits are 256 MiB: more than any body may have, and no overflow.
        guard (1...7).contains(digits.count), rest.isEmpty || rest.first == UInt8(ascii: ";") else { throw wrongChunk }
        return digits.reduce(0) { $0 << 4 | Int(RequestTarget.hexValue($1) ?? 0) }
    }

    private var tooLarge: HTTPFailure { HTTPFailure(413, "the body is larger than \(bodyLimit) bytes") }
    private static let longRequestLine = HTTPFailure(414, "the request line has more than \(requestLineLimit) bytes")
    private static let longFields = HTTPFailure(431, "the header fields have more than \(fieldsLimit) bytes")
    private static let longChunkLine = HTTPFailure.badRequest(
        "the line with a chunk's size has more than \(chunkLineLimit) bytes")
    private static let wrongChunk = HTTPFailure.badRequest("the body is not chunked as its header says")
}

/// Method, target and version of a request, as they stand in its first line (RFC 9112 §3).
struct RequestLine: Sendable {
    var method = ""
    var target: [UInt8] = []
    var isVersion10 = false

    init() {}

    init(_ bytes: ArraySlice<UInt8>) throws(HTTPFailure) {
        let parts = bytes.split(separator: 0x20, omittingEmptySubsequences: false)
        guard let first = parts.first, !first.isEmpty, HTTPFields.isToken(first) else {
            throw .badRequest("there is no request line")
        }
        // A method and a path alone are HTTP/0.9, which has no way to say no.
        if parts.count == 2, bytes.first != 0x20, parts[1].first == UInt8(ascii: "/") {
            throw HTTPFailure(0, "HTTP/0.9")
        }
        guard parts.count == 3, !parts[1].isEmpty else {
            throw .badRequest("a request line is a method, a target and a version, one space between them")
        }
        guard first.count <= HTTPRequestParser.methodLimit else { throw HTTPFailure(501, "this method is not known") }
        method = String(decoding: first, as: UTF8.self)
        target = Array(parts[1])
        let version = Array(parts[2])
        guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."),
            let major = RequestTarget.hexValue(version[5]), let minor = RequestTarget.hexValue(version[7]), major < 10,
            minor < 10
        else { throw .badRequest("the request line ends with no HTTP version") }
        guard major == 1 else { throw HTTPFailure(505, "this server speaks HTTP/1.1") }
        isVersion10 = minor == 0
    }
}
