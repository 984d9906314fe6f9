internal import Foundation

/// A request with its body, parsed.
public struct HTTPRequest: Sendable {
    public var method: String
    /// Percent-decoded, without the query; always begins with "/".
    public var path: String
    /// Decoded name and value of each query item, in order.
    public var query: [(name: String, value: String)]
    /// Lower-case names.
    public var headers: [String: String]
    public var body: [UInt8]
    /// Filled by the router: `{id}` → its value.
    public var parameters: [String: String] = [:]
    /// The peer's address, for rate limits.
    public var peer: String

    public init(
        method: String, path: String, query: [(name: String, value: String)] = [], headers: [String: String] = [:],
        body: [UInt8] = [], peer: String = "127.0.0.1"
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.peer = peer
    }

    /// First value of a query item.
    public func queryValue(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Value of a cookie (RFC 6265).
    public func cookie(_ name: String) -> String? {
        for part in headers["cookie"]?.split(separator: ";") ?? [] {
            let pair = part.split(separator: "=", maxSplits: 1)
            if pair.count == 2, pair[0].trimmingCharacters(in: .whitespaces) == name { return String(pair[1]) }
        }
        return nil
    }
}

/// A response: a body in memory, or a part of a file that is read as the client takes it.
public struct HTTPResponse: Sendable {
    public enum Body: Sendable {
        case bytes([UInt8])
        case part(of: any ByteSource, range: Range<Int>)
    }
    public var status: Int
    public var headers: [(name: String, value: String)]
    public var body: Body

    public init(status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    public init(status: Int, contentType: String, _ bytes: [UInt8]) {
        self.init(status: status, headers: [("content-type", contentType)], body: .bytes(bytes))
    }

    public var length: Int {
        switch body {
        case .bytes(let bytes): bytes.count
        case .part(_, let range): range.count
        }
    }

    /// A file, honouring a single `Range`.
    public static func file(path: String, contentType: String, request: HTTPRequest) -> HTTPResponse? {
        FileSource(path: path).map { source($0, contentType: contentType, request: request) }
    }

    /// Bytes from somewhere, honouring a single `Range: bytes=` of the request (RFC 9110 §14).
    public static func source(_ source: any ByteSource, contentType: String, request: HTTPRequest) -> HTTPResponse {
        let size = source.count
        var headers = [("content-type", contentType), ("accept-ranges", "bytes")]
        guard let header = request.headers["range"], let range = ByteRange(header, size: size) else {
            return HTTPResponse(status: 200, headers: headers, body: .part(of: source, range: 0..<size))
        }
        switch range {
        case .whole: return HTTPResponse(status: 200, headers: headers, body: .part(of: source, range: 0..<size))
        case .unsatisfiable:
            return HTTPResponse(status: 416, headers: [("content-range", "bytes */\(size)")])
        case .part(let range):
            headers.append(("content-range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"))
            return HTTPResponse(status: 206, headers: headers, body: .part(of: source, range: range))
        }
    }
}

/// Bytes that are read as they are wanted.
public protocol ByteSource: Sendable {
    var count: Int { get }
    func read(_ range: Range<Int>) throws -> [UInt8]
}

/// A file as it was when it was opened; what is appended later is not part of it.
public final class FileSource: ByteSource {
    private let descriptor: Int32
    public let count: Int

    /// nil: it is not there, cannot be read, or is no regular file.
    public init?(path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        count = Int(status.st_size)
    }
    deinit { close(descriptor) }

    public func read(_ range: Range<Int>) throws -> [UInt8] {
        let range = range.clamped(to: 0..<count)
        return try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, done in
            while done < range.count {
                guard let start = buffer.baseAddress else { return }
                let got = pread(descriptor, start + done, range.count - done, off_t(range.lowerBound + done))
                guard got > 0 else { throw NetError(.unavailable, "a file cannot be read any more") }
                done += got
            }
        }
    }
}

/// A `Range` header against a file's size.
enum ByteRange: Equatable {
    case whole
    case part(Range<Int>)
    case unsatisfiable

    /// nil for a header that is to be ignored: another unit, several ranges, or nonsense.
    init?(_ header: String, size: Int) {
        guard header.hasPrefix("bytes="), !header.contains(",") else { return nil }
        let parts = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let first = parts[0].trimmingCharacters(in: .whitespaces)
        let last = parts[1].trimmingCharacters(in: .whitespaces)
        if first.isEmpty {
            guard let suffix = Int(last), suffix >= 0 else { return nil }
            self = suffix == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - suffix)..<size)
            return
        }
        guard let start = Int(first), start >= 0 else { return nil }
        if start >= size {
            self = .unsatisfiable
            return
        }
        if last.isEmpty {
            self = .part(start..<size)
            return
        }
        guard let end = Int(last), end >= start else { return nil }
        self = .part(start..<(min(end, size - 1) + 1))
    }
}
