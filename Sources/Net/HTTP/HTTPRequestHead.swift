/// Header fields as they come, by lower-case name (RFC 9112 §5).
struct HTTPFields: Sendable {
    private(set) var values: [String: String] = [:]
    private(set) var count = 0
    private(set) var byteCount = 0
    /// Fields that may stand once only: two of them are two opinions, and who is in front of us may have the other.
    private static let single: Set<String> = [
        "host", "content-length", "transfer-encoding", "content-type", "authorization", "expect", "upgrade",
        "sec-websocket-key", "sec-websocket-version",
    ]

    /// - Throws: `HTTPFailure` 400 for a malformed field.
    mutating func add(_ line: ArraySlice<UInt8>) throws(HTTPFailure) {
        guard let first = line.first, first != 0x20, first != 0x09 else {
            throw .badRequest("a header field goes over two lines")
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
            throw .badRequest("a header field has no colon")
        }
        guard colon > line.startIndex, Self.isToken(line[..<colon]) else {
            throw .badRequest("a header field's name has a character that it must not have")
        }
        var value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let text = String(decoding: value, as: UTF8.self)
        count += 1
        byteCount += line.count + 2
        guard let before = values[name] else {
            values[name] = text
            return
        }
        guard !Self.single.contains(name) else { throw .badRequest("the header field \(name) stands twice") }
        values[name] = before + (name == "cookie" ? "; " : ", ") + text
    }

    subscript(name: String) -> String? { values[name] }

    /// Whether a list field has this member, whatever its case.
    func has(_ member: String, in name: String) -> Bool { HTTPRequest.has(member, in: values[name]) }

    private static let punctuation = Set("!#$%&'*+-.^_`|~".utf8)
    /// RFC 9110 §5.6.2.
    static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: punctuation.contains(byte)
            }
        }
    }
}

extension HTTPRequest {
    static func has(_ member: String, in list: String?) -> Bool {
        list?.split(separator: ",").contains { item in
            item.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() == member
        } ?? false
    }
}

/// A request without its body, and how the body comes.
public struct HTTPRequestHead: Sendable {
    public enum BodyLength: Sendable, Equatable {
        case none
        case known(Int)
        case chunked
    }

    /// Its body and peer are filled in later.
    public var request: HTTPRequest
    public var bodyLength: BodyLength
    /// The connection may be used again after it (RFC 9112 §9.3).
    public var isPersistent: Bool
    /// It came as HTTP/1.0.
    var isVersion10: Bool
    /// The client waits for 100 before it sends the body (RFC 9110 §10.1.1).
    public var expectsContinue: Bool

    /// - Throws: `HTTPFailure` for a malformed or ambiguous request.
    init(_ line: RequestLine, _ fields: HTTPFields) throws(HTTPFailure) {
        let target = try RequestTarget(line.target[...], method: line.method)
        var headers = fields.values
        if let host = headers["host"] {
            guard HostField.isValid(host.utf8) else { throw .badRequest("the Host field is no host and port") }
        } else if !line.isVersion10 {
            throw .badRequest("the Host field is missing")
        }
        if let authority = target.authority { headers["host"] = authority }
        bodyLength = try Self.bodyLength(line, fields)
        isVersion10 = line.isVersion10
        if line.isVersion10 {
            isPersistent = fields.has("keep-alive", in: "connection") && !fields.has("close", in: "connection")
        } else {
            isPersistent = !fields.has("close", in: "connection")
        }
        let expectation = line.isVersion10 ? nil : fields["expect"]
        guard expectation == nil || expectation?.lowercased() == "100-continue" else {
            throw HTTPFailure(417, "100-continue is the only expectation that can be met")
        }
        expectsContinue = expectation != nil && bodyLength != .none
        request = HTTPRequest(method: line.method, path: target.path, query: target.query, headers: headers)
    }

    /// RFC 9112 §6.3, without its leniency: a message that two readers could cut in two ways is refused.
    private static func bodyLength(_ line: RequestLine, _ fields: HTTPFields) throws(HTTPFailure) -> BodyLength {
        if let coding = fields["transfer-encoding"] {
            guard fields["content-length"] == nil else {
                throw .badRequest("Content-Length and Transfer-Encoding stand together")
            }
            guard !line.isVersion10 else { throw .badRequest("HTTP/1.0 has no Transfer-Encoding") }
            guard coding.lowercased() == "chunked" else {
                throw HTTPFailure(501, "chunked is the only transfer coding that is read")
            }
            return .chunked
        }
        guard let text = fields["content-length"] else { return .none }
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw .badRequest("Content-Length is not a number")
        }
        guard let length = Int(text) else { throw HTTPFailure(413, "the body is larger than any that is read") }
        return length == 0 ? .none : .known(length)
    }
}
