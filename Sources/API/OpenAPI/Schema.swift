internal import JSON

/// JSON Schema of answers, in short.
enum Schema {
    static let any: JSONValue = ["type": "object"]
    static let text: JSONValue = ["type": "string"]
    static let flag: JSONValue = ["type": "boolean"]
    static let time: JSONValue = ["type": "string", "format": "date-time"]
    static let count: JSONValue = ["type": "integer", "minimum": 0]

    static func text(_ limit: Int, minimum: Int = 1) -> JSONValue {
        ["type": "string", "minLength": .number(Double(minimum)), "maxLength": .number(Double(limit))]
    }
    static func whole(_ range: ClosedRange<Int>) -> JSONValue {
        [
            "type": "integer", "minimum": .number(Double(range.lowerBound)),
            "maximum": .number(Double(range.upperBound)),
        ]
    }
    static func choice(_ values: [String]) -> JSONValue {
        ["type": "string", "enum": .array(values.map { .string($0) })]
    }
    static func list(_ items: JSONValue) -> JSONValue { ["type": "array", "items": items] }
    static func nullable(_ schema: JSONValue) -> JSONValue { ["anyOf": [schema, ["type": "null"]]] }
    static func either(_ schemas: JSONValue...) -> JSONValue { ["anyOf": .array(schemas)] }
    static func reference(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/" + name)] }
    static func object(_ members: [String: JSONValue], required: [String] = [], isClosed: Bool = false) -> JSONValue {
        var object: [String: JSONValue] = ["type": "object", "properties": .object(members)]
        if !required.isEmpty { object["required"] = .array(required.map { .string($0) }) }
        if isClosed { object["additionalProperties"] = false }
        return .object(object)
    }
    static func page(_ item: JSONValue, more: [String: JSONValue] = [:]) -> JSONValue {
        object(["items": list(item), "next_cursor": nullable(text)].merging(more) { $1 }, required: ["items"])
    }
}
