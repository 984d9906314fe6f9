internal import Foundation
internal import Net

/// What the clients of carriers' REST APIs share: sending a request, and saying why it failed.
struct CarrierREST: Sendable {
    /// Characters of a carrier's reason that are kept.
    private static let reasonLimit = 300

    /// The carrier's, in messages to people.
    let title: String
    let client: HTTPClient
    /// The reason that a refusal gives; nil: none.
    let reason: @Sendable (_ answer: [String: Any]) -> String?

    static func json(_ method: String, _ url: String, _ object: [String: Any]) -> HTTPClientRequest {
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return HTTPClientRequest(
            method, url, headers: [("content-type", "application/json")], body: data.map { Array($0) })
    }

    /// - Returns: a reply of success.
    func send(_ request: HTTPClientRequest) async throws(RESTFailure) -> HTTPClientReply {
        let reply = try await client.reply(to: request, from: title)
        guard reply.isSuccess else {
            let words = Self.object(reply).flatMap(reason).map { String($0.prefix(Self.reasonLimit)) }
            throw RESTFailure(
                "\(title) refused (\(reply.status)): \(words ?? "no reason given")", status: reply.status)
        }
        return reply
    }

    /// nil: the reply is no JSON object.
    static func object(_ reply: HTTPClientReply) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(reply.body))) as? [String: Any]
    }

    /// A UUID (RFC 9562 §4), so that it may stand in a path.
    static func isUUID(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && text.allSatisfy { $0 == "-" || $0.isASCII && $0.isHexDigit }
    }
}
