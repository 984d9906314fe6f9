public import JSON
internal import Realtime

extension AgentForm {
    /// The document as JSON Schema (draft 2020-12).
    public static let schema: JSONValue = {
        guard case .object(var members) = schema(tree) else { return [:] }
        members["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        members["title"] = "Agent"
        return .object(members)
    }()

    private static func schema(_ tree: AgentTree) -> JSONValue {
        switch tree {
        case .leaf(let leaf):
            guard case .object(var members) = schema(leaf.kind) else { return false }
            members["description"] = .string(leaf.help)
            members["default"] = leaf.usual
            return .object(members)
        case .group(let branches):
            let required = branches.filter {
                if case .leaf(let leaf) = $0.tree { leaf.isRequired } else { false }
            }.map { JSONValue.string($0.name) }
            var members: [String: JSONValue] = [
                "type": "object", "additionalProperties": false,
                "properties": .object(Dictionary(branches.map { ($0.name, schema($0.tree)) }) { first, _ in first }),
            ]
            if !required.isEmpty { members["required"] = .array(required) }
            return .object(members)
        }
    }

    private static func schema(_ kind: AgentLeaf.Kind) -> JSONValue {
        switch kind {
        case .line(let limit), .text(let limit), .template(let limit): text(1, limit)
        case .whole(let range):
            ["type": "integer", "minimum": .whole(range.lowerBound), "maximum": .whole(range.upperBound)]
        case .decimal(let range):
            ["type": "number", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)]
        case .flag: ["type": "boolean"]
        case .choice(let names, _): words(names)
        case .language: text(2, LanguageTag.lengthLimit)
        case .slug: ["type": "string", "pattern": "^[a-z][a-z0-9-]{0,39}$"]
        case .variable: ["type": "string", "pattern": "^[a-z][a-z0-9_]{0,39}$"]
        case .provider(let provider): words(provider.names)
        case .known: text(1, wordLimit)
        case .list(let kind, let range):
            [
                "type": "array", "items": schema(kind), "minItems": .whole(range.lowerBound),
                "maxItems": .whole(range.upperBound),
            ]
        case .object(let leaves): schema(AgentTree(leaves))
        case .textOrObject(let kind, let leaves): ["anyOf": [schema(kind), schema(AgentTree(leaves))]]
        case .flags(let limit):
            ["type": "object", "maxProperties": .whole(limit), "additionalProperties": ["type": "boolean"]]
        case .scalar(let limit): ["type": ["boolean", "number", "string"], "maxLength": .whole(limit)]
        // Nothing is valid.
        case .later: ["not": [:]]
        }
    }

    private static func text(_ least: Int, _ most: Int) -> JSONValue {
        ["type": "string", "minLength": .whole(least), "maxLength": .whole(most)]
    }
    private static func words(_ names: [String]) -> JSONValue {
        ["type": "string", "enum": .array(names.map { .string($0) })]
    }
}
