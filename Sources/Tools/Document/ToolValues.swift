public import Foundation
public import JSON

/// What the places of templates are filled with in one call.
public struct ToolValues: Sendable {
    public var callID: String
    /// `outbound` or `inbound`.
    public var direction: String
    /// From signalling.
    public var caller: String, callee: String
    public var agent: String
    public var variables: [String: JSONValue]
    /// Of the callee, by the question's id.
    public var answers: [String: JSONValue] = [:]
    /// Results of tools, by the tool's name.
    public var tools: [String: JSONValue] = [:]
    /// What the model wrote, while one tool is called.
    public var arguments: [String: JSONValue] = [:]
    /// The callee's; dates are told in it.
    public var timeZone: TimeZone
    public var now: Date

    public init(
        callID: String, direction: String, caller: String = "", callee: String = "", agent: String = "default",
        variables: [String: JSONValue] = [:], timeZone: TimeZone = .gmt, now: Date = Date()
    ) {
        self.callID = callID
        self.direction = direction
        self.caller = caller
        self.callee = callee
        self.agent = agent
        self.variables = variables
        self.timeZone = timeZone
        self.now = now
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    /// The value of a path; nil: there is none. Secrets are no values: `ToolSecrets` has them.
    public func value(_ path: [String]) -> JSONValue? {
        switch path {
        case ["call", "id"]: return .string(callID)
        case ["call", "direction"]: return .string(direction)
        case ["caller", "number"]: return caller.isEmpty ? nil : .string(caller)
        case ["callee", "number"]: return callee.isEmpty ? nil : .string(callee)
        case ["agent", "slug"]: return .string(agent)
        case ["now"]:
            return .string(now.formatted(Date.ISO8601FormatStyle(timeZoneSeparator: .colon, timeZone: timeZone)))
        case ["today"]:
            let parts = calendar.dateComponents([.year, .month, .day], from: now)
            return .string(
                "\(Self.digits(parts.year, 4))-\(Self.digits(parts.month, 2))-\(Self.digits(parts.day, 2))")
        case ["weekday"]:
            let index = calendar.component(.weekday, from: now) - 1
            return Self.weekdays.indices.contains(index) ? .string(Self.weekdays[index]) : nil
        default: break
        }
        guard path.count > 1 else { return path.first.flatMap { variables[$0] } }
        let table: [String: JSONValue] =
            switch path[0] {
            case "variables": variables
            case "answers": answers
            case "tools": tools
            case "arguments": arguments
            default: [:]
            }
        return JSONValue.object(table)[JSONPointer(Array(path.dropFirst()))]
    }

    /// The value as text; nil: there is none.
    public func text(_ path: [String]) -> String? { value(path).flatMap(Self.text) }

    /// A text as it is, anything else as JSON; nil for `null`.
    static func text(_ value: JSONValue) -> String? {
        switch value {
        case .null: nil
        case .string(let text): text
        default: value.text
        }
    }

    private var calendar: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        return calendar
    }

    private static func digits(_ number: Int?, _ count: Int) -> String {
        let text = String(number ?? 0)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
