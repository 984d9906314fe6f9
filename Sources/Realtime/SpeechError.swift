internal import Foundation
internal import Net

/// A speech engine cannot be had or does not work; the message tells the operator what to do.
public struct SpeechError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable, Equatable {
        /// The key is wrong or may not do this.
        case unauthorized
        /// Too much was asked for; `retryAfterSeconds` where the service told it.
        case rateLimited(retryAfterSeconds: Double?)
        /// The request is wrong, and will be the next time.
        case invalid
        /// It cannot be reached, or failed itself.
        case unavailable
        /// It stopped answering.
        case stalled
        /// Its answer ended in the middle, or cannot be understood.
        case broken
    }
    public var message: String
    public var kind: Kind

    public init(_ message: String, _ kind: Kind = .unavailable) {
        self.message = message
        self.kind = kind
    }
    public var description: String { message }

    /// Characters of a service's own words that are passed on.
    private static let wordsLimit = 300

    /// A refusal by HTTP.
    init(_ service: String, status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        let words = Self.words(body).map { ": " + $0 } ?? ""
        let kind: Kind =
            switch status {
            case 401, 403: .unauthorized
            case 429:
                .rateLimited(
                    retryAfterSeconds: headers["retry-after"].flatMap { Double($0) }.map { min(max($0, 0), 3_600) })
            case 408, 500...: .unavailable
            default: .invalid
            }
        self.init("\(service) answered \(status)\(words)", kind)
    }

    init(_ service: String, _ failure: WebSocketChannel.Failure) {
        if let status = failure.status {
            self.init(service, status: status)
        } else {
            self.init("\(service): \(failure.message)", .unavailable)
        }
    }

    /// Some services repeat our key in their messages: whatever looks like a key is removed.
    private static func withoutKeys(_ text: String) -> String {
        var words: [String] = []
        for word in text.components(separatedBy: " ") {
            let isKey =
                word.count >= 12 && word.contains(where: { $0.isNumber }) && word.contains(where: { $0.isLetter })
            words.append(isKey ? "…" : word)
        }
        return words.joined(separator: " ")
    }

    /// The vendors differ: `{"error": {"message"}}`, `{"error": "…"}`, `{"message"}`, `{"detail": {"message"}}`,
    /// `{"err_msg"}`, plain text.
    static func words(_ body: [UInt8]) -> String? { told(body).map(withoutKeys) }

    private static func told(_ body: [UInt8]) -> String? {
        guard !body.isEmpty else { return nil }
        guard let object = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] else {
            let text = String(decoding: body.prefix(wordsLimit), as: UTF8.self)
            return text.contains("<") ? nil : text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        for key in ["error", "message", "detail", "err_msg", "title", "reason"] {
            if let text = object[key] as? String { return String(text.prefix(wordsLimit)) }
            if let inner = object[key] as? [String: Any], let text = inner["message"] as? String {
                return String(text.prefix(wordsLimit))
            }
        }
        return nil
    }
}
