internal import Foundation

/// `application/x-www-form-urlencoded` (WHATWG URL, §5).
public enum HTTPForm {
    public static let contentType = "application/x-www-form-urlencoded"
    /// Fields of one form, and bytes of one value, that we read.
    public static let fieldLimit = 200
    public static let valueLimit = 4_096

    private static let plain = CharacterSet(
        charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

    public static func encode(_ fields: [(name: String, value: String)]) -> String {
        fields.map { escaped($0.name) + "=" + escaped($0.value) }.joined(separator: "&")
    }

    public static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
    }

    /// The fields in their order.
    /// - Throws: `NetError.protocolViolation`, or `.tooBig`, with what is wrong.
    public static func decode(_ body: some Sequence<UInt8>) throws(NetError) -> [(name: String, value: String)] {
        let items = String(decoding: Array(body), as: UTF8.self).split(separator: "&")
        guard items.count <= fieldLimit else { throw NetError(.tooBig, "has more than \(fieldLimit) fields") }
        var fields: [(name: String, value: String)] = []
        for item in items {
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.replacing("+", with: " ").removingPercentEncoding }
            guard let name = pair[0], let value = pair.count > 1 ? pair[1] : "" else {
                throw NetError(.protocolViolation, "is no form")
            }
            guard value.utf8.count <= valueLimit else {
                throw NetError(.tooBig, "a value has more than \(valueLimit) bytes")
            }
            fields.append((name, value))
        }
        return fields
    }
}
