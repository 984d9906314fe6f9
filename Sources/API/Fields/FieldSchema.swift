internal import Calls
internal import Delivery
internal import Foundation
internal import JSON
internal import Realtime

/// Descriptions as JSON Schema (draft 2020-12, as OpenAPI 3.1 has it).
extension Field {
    /// The longest text that a schema limits, characters. Longer ones are documents: a tool that tries out a schema's
    /// limits would make texts of megabytes.
    private static let documentedLimit = 65_536

    /// As a member of a body: null is as good as left out.
    func schema(default usual: JSONValue? = nil, notes: [String: JSONValue] = [:]) -> JSONValue {
        var schema = kind.schema
        if mayBeBlank { schema["minLength"] = 0 }
        if !isRequired { schema = ["anyOf": [.object(schema), ["type": "null"]]] }
        schema["default"] = usual ?? self.usual
        schema["description"] = .string(help)
        return .object(schema.merging(notes) { $1 })
    }

    /// As a parameter of a query or a header.
    var parameterSchema: JSONValue {
        var schema = kind.schema
        if mayBeBlank { schema["minLength"] = 0 }
        schema["default"] = usual
        return .object(schema)
    }

    fileprivate static func text(_ range: ClosedRange<Int>) -> [String: JSONValue] {
        var schema: [String: JSONValue] = ["type": "string", "minLength": .whole(range.lowerBound)]
        if range.upperBound <= documentedLimit { schema["maxLength"] = .whole(range.upperBound) }
        return schema
    }
}

extension Field.Kind {
    var schema: [String: JSONValue] {
        switch self {
        case .text(let limit, _): Field.text(1...limit)
        case .secret(let range): Field.text(range)
        case .integer(let range):
            ["type": "integer", "minimum": .whole(range.lowerBound), "maximum": .whole(range.upperBound)]
        case .boolean: ["type": "boolean"]
        case .choice(let values): ["type": "string", "enum": .array(values.map { .string($0) })]
        case .url: Field.text(1...WebhookSender.urlLimit)
        case .time: ["type": "string", "format": "date-time"]
        case .language: Field.text(2...LanguageTag.lengthLimit)
        case .phoneNumber: Field.text(1...Self.wordLimit)
        case .callAddress: Field.text(1...Self.addressLimit)
        case .list(let kind, let count):
            [
                "type": "array", "items": .object(kind.schema), "minItems": .whole(count.lowerBound),
                "maxItems": .whole(count.upperBound),
            ]
        case .object(let fields, let others): Form.schema(fields, isClosed: !others)
        case .free: ["type": "object"]
        case .texts(let count, let name, let value):
            [
                "type": "object", "maxProperties": .whole(count), "propertyNames": .object(Field.text(1...name)),
                "additionalProperties": .object(Field.text(0...value)),
            ]
        case .textOrObject(let text, let fields):
            ["anyOf": [.object(text.schema), .object(Form.schema(fields, isClosed: true))]]
        case .textOrFree(let text): ["anyOf": [.object(text.schema), ["type": "object"]]]
        case .scalar(let limit): ["type": ["boolean", "number", "string"], "maxLength": .whole(limit)]
        }
    }
}

extension Form {
    /// - Parameters:
    ///   - defaults: of this server, by field.
    ///   - notes: more members of a field's schema, by field.
    static func schema(
        _ fields: [Field], isClosed: Bool, defaults: [String: JSONValue] = [:],
        notes: [String: [String: JSONValue]] = [:]
    ) -> [String: JSONValue] {
        var schema: [String: JSONValue] = [
            "type": "object",
            "properties": .object(
                Dictionary(
                    fields.map { ($0.name, $0.schema(default: defaults[$0.name], notes: notes[$0.name] ?? [:])) }
                ) { first, _ in first }),
        ]
        let required = fields.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        if isClosed { schema["additionalProperties"] = false }
        return schema
    }

    func schema(defaults: [String: JSONValue] = [:]) -> JSONValue {
        .object(Self.schema(fields, isClosed: true, defaults: defaults))
    }

    /// As this server's dashboard is told.
    func schema(_ settings: CallSettings) -> JSONValue {
        .object(Self.schema(fields, isClosed: true, defaults: defaults(settings), notes: notes(settings)))
    }
}
