/// What a request line asks for (RFC 9112 §3.2), decoded once and strictly.
struct RequestTarget: Equatable {
    /// Name and value pairs of a query; more is 414.
    static let queryItemLimit = 128

    /// Percent-decoded, without the query. It may hold a NUL, which no route has.
    var path: String
    var query: [(name: String, value: String)]
    /// Host and port of an absolute form, which overrides the Host field.
    var authority: String?

    static func == (a: RequestTarget, b: RequestTarget) -> Bool {
        a.path == b.path && a.authority == b.authority && a.query.elementsEqual(b.query) { $0 == $1 }
    }

    /// - Throws: `HTTPFailure` 400 for a malformed request target, 414 for too many query items, 501 for CONNECT.
    init(_ bytes: ArraySlice<UInt8>, method: String) throws(HTTPFailure) {
        guard method != "CONNECT" else { throw HTTPFailure(501, "this server is no proxy: CONNECT is not possible") }
        // Only visible ASCII without "#" (RFC 3986 §2).
        guard bytes.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
            throw .badRequest("the request target holds a character that must be percent-encoded")
        }
        if bytes.elementsEqual("*".utf8) {
            guard method == "OPTIONS" else { throw .badRequest("only OPTIONS may ask for *") }
            (path, query, authority) = ("*", [], nil)
            return
        }
        var rest = bytes
        authority = nil
        if bytes.first != UInt8(ascii: "/") {
            guard let after = Self.afterScheme(bytes) else {
                throw .badRequest("the request target must begin with / or be an absolute http or https address")
            }
            let host = bytes[after...].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            guard HostField.isValid(host), !host.isEmpty else {
                throw .badRequest("the request target names no valid host")
            }
            authority = String(decoding: host, as: UTF8.self)
            rest = bytes[host.endIndex...]
        }
        let mark = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
        path = try Self.decoded(rest[..<mark], isQuery: false)
        if path.isEmpty { path = "/" }
        query = []
        guard mark < rest.endIndex else { return }
        for item in rest[(mark + 1)...].split(separator: UInt8(ascii: "&")) {
            guard query.count < Self.queryItemLimit else {
                throw HTTPFailure(414, "the query has more than \(Self.queryItemLimit) items")
            }
            let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
            let name = try Self.decoded(item[..<equals], isQuery: true)
            let value = equals < item.endIndex ? try Self.decoded(item[(equals + 1)...], isQuery: true) : ""
            query.append((name, value))
        }
    }

    private static func afterScheme(_ bytes: ArraySlice<UInt8>) -> Int? {
        for scheme in ["http://", "https://"] where bytes.count > scheme.utf8.count {
            if zip(bytes, scheme.utf8).allSatisfy({ ($0 | 0x20) == $1 || $0 == $1 }) {
                return bytes.startIndex + scheme.utf8.count
            }
        }
        return nil
    }

    /// Percent-decoded UTF-8; in a query "+" is a space.
    private static func decoded(_ bytes: ArraySlice<UInt8>, isQuery: Bool) throws(HTTPFailure) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "%") else {
                result.append(isQuery && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                continue
            }
            guard bytes.endIndex - index >= 2, let high = hexValue(bytes[index]), let low = hexValue(bytes[index + 1])
            else {
                throw .badRequest("the request target has a % without two hex digits behind it")
            }
            result.append(high << 4 | low)
            index += 2
        }
        guard let text = String(validating: result, as: UTF8.self) else {
            throw .badRequest("the request target is not UTF-8 when it is decoded")
        }
        return text
    }

    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// The value of a Host field: host and optional port (RFC 9110 §7.2), by its characters.
enum HostField {
    private static let allowed = Set("-._~!$&'()*+,;=%:[]".utf8)

    static func isValid(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"):
                true
            default: allowed.contains(byte)
            }
        }
    }
}
