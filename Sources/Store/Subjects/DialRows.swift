public import Foundation

/// When numbers were dialled and by which of ours, inside a transaction.
public struct DialRows {
    let transaction: any Transaction
    let context: Context

    public func insert(_ call: String, at now: Date, to remoteNumber: String, from localKey: String) throws {
        try transaction.run(
            "INSERT INTO dials (call_id, at, remote_key, local_key) VALUES (?, ?, ?, ?)", call, now,
            context.key(remoteNumber), localKey)
    }

    public func remove(before date: Date) throws { try transaction.run("DELETE FROM dials WHERE at < ?", date) }

    /// When another call dialled a number last.
    public func last(to remoteNumber: String, notBy call: String, until now: Date) throws -> Date? {
        try transaction.value(
            "SELECT MAX(at) FROM dials WHERE remote_key = ? AND call_id <> ? AND at <= ?", context.key(remoteNumber),
            call,
            now)
    }

    /// The call that dialled a number last, after a time.
    public func lastCall(to remoteNumber: String, after date: Date) throws -> String? {
        try transaction.value(
            "SELECT call_id FROM dials WHERE remote_key = ? AND at > ? ORDER BY at DESC LIMIT 1",
            context.key(remoteNumber), date)
    }

    /// Dials that showed a number of ours.
    public func count(from localKey: String, since start: Date, until end: Date) throws -> Int {
        try transaction.count(
            "SELECT COUNT(*) FROM dials WHERE local_key = ? AND at >= ? AND at <= ?", localKey, start, end)
    }

    // MARK: What the lists say

    public func isOnDoNotCallList(_ remoteNumber: String) throws -> Bool {
        try transaction.exists("SELECT 1 FROM do_not_call WHERE key = ?", context.key(remoteNumber))
    }

    /// Calls in a day in which a number of ours may be shown; nil: it is not listed, or has no cap of its own.
    public func dailyCap(of localKey: String) throws -> Int? {
        let encrypted: Data? = try transaction.value("SELECT entry FROM caller_numbers WHERE key = ?", localKey)
        return try encrypted.flatMap { encrypted in
            let number: CallerNumber = try context.open(encrypted, row: "caller_numbers/" + localKey)
            return number.dailyCap
        }
    }
}
