public import Foundation

/// What a client calls a request, so that it may send it again (`Idempotency-Key`).
public struct RepeatableRequest: Sendable, Equatable {
    /// Hours for which the first answer is given again.
    public static let hours = 24.0
    /// Bytes of the client's key.
    public static let keyLimit = 255
    /// The principal that sent the request, and the client's idempotency key.
    public var key: String
    /// What was asked, hashed.
    public var request: String
    /// The stored answer.
    public var answer: String
    public init(key: String, request: String, answer: String) {
        self.key = key
        self.request = request
        self.answer = answer
    }
}

/// Answers to requests that may come again, inside a transaction.
public struct RequestRows {
    let transaction: any Transaction
    let context: Context

    /// Two companies may use the same key: it is hashed with the company's name. (Of `default` without, so that keys of
    /// before there were companies are still known.)
    private func hash(_ company: CompanyID, _ key: String) -> String {
        context.numbers.hash(company == .default ? key : "company \(company)\n\(key)")
    }

    /// The hash of the request that had this key, and its answer.
    public func known(_ company: CompanyID, _ key: String, at now: Date) throws -> (request: String, answer: String)? {
        try transaction.row(
            "SELECT request, answer FROM idempotency WHERE key = ? AND at > ?", hash(company, key),
            now.addingTimeInterval(-RepeatableRequest.hours * 3_600)
        ).map { (try $0["request"], try $0["answer"]) }
    }

    /// Keeps an answer, and forgets those that are over.
    public func keep(_ company: CompanyID, _ request: RepeatableRequest, at now: Date) throws {
        try transaction.run(
            """
            INSERT INTO idempotency (company, key, request, answer, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (key) DO UPDATE SET request = excluded.request, answer = excluded.answer, at = excluded.at
            """, company, hash(company, request.key), request.request, request.answer, now)
        try transaction.run(
            "DELETE FROM idempotency WHERE at < ?", now.addingTimeInterval(-2 * RepeatableRequest.hours * 3_600))
    }
}
