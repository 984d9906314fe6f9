internal import Foundation
internal import JSON
internal import Realtime

/// `schedule_callback {at, reason}`: a new call to the same party, once in a call.
enum ScheduleCallback {
    private static let reasonLimit = 300

    static let schema: JSONValue = [
        "type": "object",
        "properties": [
            "at": [
                "type": "string", "format": "date-time",
                "description": "when to call, with the offset of the other party's zone, as 2026-07-28T14:30:00+09:00",
            ],
            "reason": ["type": "string", "maxLength": .whole(reasonLimit), "description": "why, in a few words"],
        ],
        "required": ["at"],
    ]

    /// The model is told the time, from which it reckons "tomorrow at ten".
    static func tool(_ values: ToolValues) -> CallTool {
        let now = values.text(["now"]) ?? ""
        let day = values.text(["weekday"]) ?? ""
        return CallTool(
            name: BuiltInTool.scheduleCallback.rawValue,
            purpose: "Arranges a call back at a time that the other party wants. It is now \(now), \(day).",
            parameters: schema.text, limit: 1)
    }

    static func run(_ arguments: [String: JSONValue], _ means: ToolMeans) async throws -> JSONValue {
        guard let schedule = means.scheduleCall, case .string(let text)? = arguments["at"] else {
            throw ToolFailure.notAvailable("no call can be arranged")
        }
        guard let at = date(text) else { throw ToolFailure.invalidArguments("/at must be a date-time") }
        var reason = ""
        if case .string(let words)? = arguments["reason"] { reason = words }
        switch await schedule(ToolMeans.Callback(at: at, reason: reason)) {
        case .scheduled(let date): return ["scheduled_at": .string(date.formatted(.iso8601))]
        case .refused(let words): throw ToolFailure.refused(words)
        }
    }

    /// RFC 3339, with or without parts of a second.
    private static func date(_ text: String) -> Date? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime]
        if let date = formatter.date(from: text.uppercased()) { return date }
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return formatter.date(from: text.uppercased())
    }
}
