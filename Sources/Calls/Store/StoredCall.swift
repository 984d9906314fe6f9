internal import Foundation
internal import Problems
internal import Realtime
internal import Store

/// The record of a call as JSON, as it stands in the database.
///
/// Records up to schema 10 have other names: `outboundID`, `callID` (the provider's), and `callerNumber` for our own
/// number, `calleeNumber` for the other party's number, in both directions. There may be millions of encrypted records,
/// so no migration rewrites them. A call that changes is written with the current names.
enum StoredCall {
    private static let renamed = [
        "outboundID": "id", "callID": "providerCallID", "callerNumber": "localNumber", "calleeNumber": "remoteNumber",
    ]

    static func call(_ record: CallRecord) throws -> Call {
        var call = try call(json: Data(try record.open().utf8))
        call.company = record.company
        return call
    }

    static func call(json: Data) throws -> Call {
        do { return try JSONDecoder().decode(Call.self, from: json) } catch DecodingError.keyNotFound(let key, _)
            where key.stringValue == "id"
        {
            return try JSONDecoder().decode(Call.self, from: try modern(json))
        }
    }

    /// An old record with today's names.
    private static func modern(_ json: Data) throws -> Data {
        guard let old = try JSONSerialization.jsonObject(with: json) as? [String: Any] else {
            throw StoreError(.unavailable, .rowDamaged)
        }
        var members: [String: Any] = [:]
        for (name, value) in old { members[renamed[name] ?? name] = value }
        guard let id = members["id"] as? String, let direction = CallDirection(id: id) else {
            throw StoreError(.unavailable, .rowDamaged)
        }
        members["direction"] = direction.rawValue
        return try JSONSerialization.data(withJSONObject: members)
    }

    static func row(_ call: Call) throws -> CallRow {
        CallRow(
            id: call.id, company: call.company, direction: call.direction, state: call.state, createdAt: call.createdAt,
            answeredAt: call.answeredAt, completedAt: call.completedAt, dueAt: call.nextAttemptAt ?? call.createdAt,
            localNumber: call.localNumber, remoteNumber: call.remoteNumber, priority: call.priority,
            purpose: call.brief.purpose, webhook: call.webhookURL,
            carrier: call.carrier, dialect: call.dialect,
            record: String(decoding: try JSONEncoder().encode(call), as: UTF8.self))
    }
}
