internal import JSON
internal import Problems

/// A JSON value whose texts are templates.
public struct JSONTemplate: Sendable, Equatable {
    /// Objects and arrays inside each other, and values in all of them.
    static let depthLimit = 10, valueLimit = 500

    private indirect enum Node: Sendable, Equatable {
        case plain(JSONValue)
        case text(Template)
        case array([Node])
        case object([String: Node])
    }

    private let root: Node
    let places: [Template.Place]

    static func read(_ json: JSONValue, for place: TemplatePlace, at pointer: JSONPointer, _ issues: inout [ToolIssue])
        -> JSONTemplate?
    {
        let before = issues.count
        var places: [Template.Place] = [], count = 0
        let root = node(json, place, pointer, 1, &places, &count, &issues)
        if count > valueLimit { issues.append(ToolIssue(pointer, .tooManyItems, ["limit": .number(valueLimit)])) }
        return issues.count == before ? JSONTemplate(root: root, places: places) : nil
    }

    private static func node(
        _ json: JSONValue, _ place: TemplatePlace, _ pointer: JSONPointer, _ depth: Int,
        _ places: inout [Template.Place], _ count: inout Int, _ issues: inout [ToolIssue]
    ) -> Node {
        count += 1
        guard depth <= depthLimit else {
            issues.append(ToolIssue(pointer, .nestedTooDeep, ["limit": .number(depthLimit)]))
            return .plain(.null)
        }
        switch json {
        case .string(let text):
            guard let template = Template.read(text, for: place, at: pointer, &issues) else { return .plain(json) }
            places += template.places
            return template.places.isEmpty ? .plain(json) : .text(template)
        case .array(let items):
            return .array(
                items.enumerated().map {
                    node($0.element, place, pointer / $0.offset, depth + 1, &places, &count, &issues)
                })
        case .object(let members):
            var nodes: [String: Node] = [:]
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                nodes[name] = node(value, place, pointer / name, depth + 1, &places, &count, &issues)
            }
            return .object(nodes)
        case .null, .bool, .number: return .plain(json)
        }
    }

    /// The value with its places filled in. A text that is one place alone becomes the value itself: a number stays a
    /// number.
    func filled(_ values: ToolValues) -> JSONValue { Self.filled(root, values) }

    private static func filled(_ node: Node, _ values: ToolValues) -> JSONValue {
        switch node {
        case .plain(let value): return value
        case .array(let items): return .array(items.map { filled($0, values) })
        case .object(let members): return .object(members.mapValues { filled($0, values) })
        case .text(let template):
            if template.pieces.count == 1, let place = template.places.first {
                return values.value(place.path) ?? place.fallback.map(JSONValue.string) ?? .null
            }
            return .string(template.filled { values.text($0) })
        }
    }
}
