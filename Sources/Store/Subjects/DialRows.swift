public import Foundation

/// When numbers were dialled and by which of ours, inside a transaction.
public struct DialRows {
    let transaction: any Transaction
    let context: Context

    public func insert(
        _ company: CompanyID, _ call: String, at now: Date, to remoteNumber: String, from localKey: String
    ) throws {
        try transaction.run(
            "INSERT INTO dials (company, call_id, at, remote_key, local_key) VALUES (?, ?, ?, ?, ?)", company, call,
            now,
            context.key(remoteNumber), localKey)
    }

    /// Those of all companies.
    public func remove(before date: Date) throws { try transaction.run("DELETE FROM dials WHERE at < ?", date) }

    /// When another call dialled a number last.
    public func last(_ company: CompanyID, to remoteNumber: String, notBy call: String, until now: Date) throws -> Date?
    {
        try transaction.value(
            "SELECT MAX(at) FROM dials WHERE company = ? AND remote_key = ? AND call_id <> ? AND at <= ?", company,
            context.key(remoteNumber), call, now)
    }

    /// The call that dialled a number last, after a time.
    public func lastCall(_ company: CompanyID, to remoteNumber: String, after date: Date) throws -> String? {
        try transaction.value(
            "SELECT call_id FROM dials WHERE company = ? AND remote_key = ? AND at > ? ORDER BY at DESC LIMIT 1",
            company, context.key(remoteNumber), date)
    }

    /// Dials that showed a number of ours.
    public func count(_ company: CompanyID, from localKey: String, since start: Date, until end: Date) throws -> Int {
        try transaction.count(
            "SELECT COUNT(*) FROM dials WHERE company = ? AND local_key = ? AND at >= ? AND at <= ?", company, localKey,
            start, end)
    }

    // MARK: What the lists say

    /// The installation's own list, that of `default`, binds every company.
    public func isOnDoNotCallList(_ company: CompanyID, _ remoteNumber: String) throws -> Bool {
        try transaction.exists(
            "SELECT 1 FROM do_not_call WHERE company IN (?, ?) AND key = ?", CompanyID.default, company,
            context.key(remoteNumber))
    }

    /// Calls in a day in which a number of ours may be shown; nil: it is not listed, or has no cap of its own.
    public func dailyCap(_ company: CompanyID, of localKey: String) throws -> Int? {
        let encrypted: Data? = try transaction.value(
            "SELECT entry FROM caller_numbers WHERE key = ? AND company = ?", localKey, company)
        return try encrypted.flatMap { encrypted in
            let number: CallerNumber = try context.open(encrypted, row: "caller_numbers/" + localKey)
            return number.dailyCap
        }
    }
}
