internal import Foundation
internal import Net

/// The one way to a carrier's REST API: sends requests, and says why they failed.
struct CarrierREST: Sendable {
    /// What a refusal says: the carrier's error code, and its reason in words.
    typealias Reason = (code: Int?, words: String?)

    /// Characters of a carrier's reason that are kept.
    private static let reasonLimit = 300
    /// Milliseconds to an answer, and its bytes.
    private static let timeoutMs = 10_000
    static let answerLimit = 1 << 20

    /// The carrier's name, for messages.
    let title: String
    let client: HTTPClient
    let reason: @Sendable (_ answer: [String: Any]) -> Reason

    static func json(_ method: String, _ url: String, _ object: [String: Any]) -> HTTPClientRequest {
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        return HTTPClientRequest(
            method, url, headers: [("content-type", "application/json")], body: data.map { Array($0) })
    }

    /// - Returns: a reply of success.
    func send(_ request: HTTPClientRequest) async throws(RESTFailure) -> HTTPClientReply {
        let reply = try await reply(to: request)
        guard reply.isSuccess else { throw refusal(reply) }
        return reply
    }

    /// - Parameter limit: bytes of the answer.
    /// - Returns: a reply of any status.
    func reply(
        to request: HTTPClientRequest, limit: Int = answerLimit
    ) async throws(RESTFailure) -> HTTPClientReply {
        var request = request
        request.responseTimeoutMs = Self.timeoutMs
        // The address is the operator's: the carrier's, or a server like it.
        request.allowsPrivateAddresses = true
        do { return try await client.fetch(request, limit: limit) } catch {
            let problem = error as? NetError
            let isSent = problem.map { ![.cannotResolve, .cannotConnect, .refused, .unavailable].contains($0.code) }
            throw RESTFailure(
                "\(title) cannot be reached: \(problem?.message ?? "\(error)")", isUncertain: isSent ?? true)
        }
    }

    /// The failure that a reply without success is.
    func refusal(_ reply: HTTPClientReply) -> RESTFailure {
        let reason = Self.object(reply).map(reason)
        let words = reason?.words.map { String($0.prefix(Self.reasonLimit)) }
        return RESTFailure(
            "\(title) refused (\(reply.status)): \(words ?? "no reason given")", code: reason?.code,
            status: reply.status)
    }

    /// The failure that a reply of success is whose body is not one of a call: the call may have been placed.
    func unreadable(_ reply: HTTPClientReply) -> RESTFailure {
        RESTFailure("\(title)'s answer is not one of a call", status: reply.status, isUncertain: true)
    }

    /// nil: the reply is no JSON object.
    static func object(_ reply: HTTPClientReply) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(reply.body))) as? [String: Any]
    }

    /// The nearest number that the API takes.
    static func within(_ range: ClosedRange<Int>, _ value: Int) -> Int {
        min(range.upperBound, max(range.lowerBound, value))
    }

    /// A UUID (RFC 9562 §4), so that it may stand in a path.
    static func isUUID(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && text.allSatisfy { $0 == "-" || $0.isASCII && $0.isHexDigit }
    }
}
