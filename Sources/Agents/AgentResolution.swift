public import Foundation
public import JSON
internal import Realtime

/// What is known of a call when it is created: what `{{places}}` are filled in with.
public struct AgentCallFacts: Sendable {
    public var id: String
    /// `outbound` or `inbound`
    public var direction: String
    /// From signalling, never from speech.
    public var caller: String
    public var callee: String
    public var at: Date
    public var timeZone: TimeZone
    /// Of the conversation; the weekday's name is in it.
    public var language: String

    public init(
        id: String, direction: String, caller: String, callee: String, at: Date, timeZone: TimeZone, language: String
    ) {
        self.id = id
        self.direction = direction
        self.caller = caller
        self.callee = callee
        self.at = at
        self.timeZone = timeZone
        self.language = language
    }

    fileprivate var values: [[String]: String] {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = timeZone
        let day = Date.ISO8601FormatStyle(timeZone: timeZone).year().month().day()
        let weekday = Date.FormatStyle(
            locale: Locale(identifier: language), calendar: calendar, timeZone: timeZone
        ).weekday(.wide)
        return [
            ["call", "id"]: id, ["call", "direction"]: direction, ["caller", "number"]: caller,
            ["callee", "number"]: callee, ["today"]: at.formatted(day), ["weekday"]: at.formatted(weekday),
            ["now"]: at.formatted(
                Date.ISO8601FormatStyle(dateTimeSeparator: .standard, timeZone: timeZone).year().month().day()
                    .time(includingFractionalSeconds: false).timeZone(separator: .colon)),
        ]
    }
}

extension AgentVersion {
    public struct Variable: Sendable, Equatable {
        public var name: String
        public var isRequired: Bool
        public var usual: String?
    }

    public var variables: [Variable] {
        (document["variables"]?.items ?? []).compactMap { item in
            item["name"]?.string.map {
                Variable(name: $0, isRequired: item["required"]?.flag ?? false, usual: item["default"]?.string)
            }
        }
    }

    /// Of the conversation; nil: as the configuration says.
    public var language: String? { document["language"]?.string }
    public var hasPurpose: Bool { document["purpose"] != nil }
    public var hasQuestions: Bool { document["questions"] != nil }

    /// What it makes of a call, its texts filled in.
    /// - Parameter values: of its variables; what is left out has its default, or nothing.
    public func brief(for call: AgentCallFacts, variables values: [String: String]) -> AgentBrief {
        var places = call.values
        places[["agent", "slug"]] = reference.slug
        places[["agent", "version"]] = String(reference.version)
        for variable in variables {
            guard let value = values[variable.name] ?? variable.usual else { continue }
            places[["variables", variable.name]] = value
            places[[variable.name]] = value
        }
        var brief = AgentBrief()
        for leaf in AgentForm.leaves {
            guard let apply = leaf.apply, let value = document[path: leaf.path] else { continue }
            apply(&brief, Self.filled(value, leaf.kind, places))
        }
        return brief
    }

    private static func filled(_ value: JSONValue, _ kind: AgentLeaf.Kind, _ places: [[String]: String]) -> JSONValue {
        switch (kind, value) {
        case (.template, .string(let text)):
            (try? Template(text)).map { .string($0.filled { places[$0] }) } ?? value
        case (.list(let kind, _), .array(let items)): .array(items.map { filled($0, kind, places) })
        case (.textOrObject(let kind, _), .string): filled(value, kind, places)
        case (.textOrObject(_, let leaves), .object(let members)), (.object(let leaves), .object(let members)):
            .object(
                members.reduce(into: [:]) { all, member in
                    let kind = leaves.first { $0.path == member.key }?.kind
                    all[member.key] = kind.map { filled(member.value, $0, places) } ?? member.value
                })
        default: value
        }
    }

    // MARK: What holds, and why

    /// Every leaf with its value and the layer that it comes from: `agent`, `configuration` or `default`.
    public func effective(in environment: AgentEnvironment) -> JSONValue {
        var leaves: [String: JSONValue] = [:]
        for leaf in AgentForm.leaves {
            if case .later = leaf.kind { continue }
            let found: (JSONValue, JSONValue)
            if reference.version > 0, let own = document[path: leaf.path] {
                found = (own, "agent")
            } else if let configured = environment.configured[leaf.path], configured != .null {
                found = (configured, "configuration")
            } else {
                found = (leaf.usual ?? .null, "default")
            }
            leaves[leaf.path] = ["value": found.0, "from": found.1]
        }
        return .object(leaves)
    }
}
