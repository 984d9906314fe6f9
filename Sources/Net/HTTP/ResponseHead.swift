internal import Foundation

/// Spells the head of a response (RFC 9112 §4).
enum ResponseHead {
    /// Bytes of a head at most; a longer one is an error of ours.
    static let limit = 16_384

    /// - Parameter closes: the connection ends after this response.
    static func bytes(_ response: HTTPResponse, closes: Bool, at seconds: Int) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        func add(_ name: String, _ value: String) {
            // A value with a control character could begin a field of its own.
            guard !value.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return }
            text.append(contentsOf: name.utf8)
            text.append(contentsOf: ": ".utf8)
            text.append(contentsOf: value.utf8)
            text.append(contentsOf: "\r\n".utf8)
        }
        text.append(contentsOf: "HTTP/1.1 \(response.status) \(HTTPStatus.reason(response.status))\r\n".utf8)
        for (name, value) in response.headers { add(name, value) }
        // RFC 9110 §8.6: never with 1xx and 204.
        if response.status >= 200, response.status != 204 { add("content-length", String(response.length)) }
        if response.status != 101 {
            add("date", HTTPDate.text(seconds))
            if closes { add("connection", "close") }
        }
        text.append(contentsOf: "\r\n".utf8)
        return text
    }
}

/// A date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter seconds: since 1970, UTC.
    static func text(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&time, &parts) != nil else { return "" }
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let day = days[Int(parts.tm_wday) % 7], month = months[Int(parts.tm_mon) % 12]
        let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return "\(day), \(two(parts.tm_mday)) \(month) \(Int(parts.tm_year) + 1_900) \(clock) GMT"
    }
}
