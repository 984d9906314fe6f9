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
            guard case .object(var members) = leaf.isRequired ? schema(leaf.kind) : optional(schema(leaf.kind)) else {
                return false
            }
            members["description"] = .string(leaf.help)
            members["default"] = leaf.usual
            return .object(members)
        case .group(let branches):
            let required = branches.filter {
                if case .leaf(let leaf) = $0.tree { leaf.isRequired } else { false }
            }.map { JSONValue.string($0.name) }
            let properties = branches.map { branch in
                if case .group = branch.tree { (branch.name, optional(schema(branch.tree))) } else {
                    (branch.name, schema(branch.tree))
                }
            }
            var members: [String: JSONValue] = [
                "type": "object", "additionalProperties": false,
                "properties": .object(Dictionary(properties) { first, _ in first }),
            ]
            if !required.isEmpty { members["required"] = .array(required) }
            return .object(members)
        }
    }

    /// null is as good as left out.
    private static func optional(_ schema: JSONValue) -> JSONValue {
        guard case .object(var members) = schema else { return schema }
        switch (members["type"], members["anyOf"]) {
        case (.string(let type)?, _): members["type"] = [.string(type), "null"]
        case (.array(let types)?, _): members["type"] = .array(types + ["null"])
        case (_, .array(let kinds)?): members["anyOf"] = .array(kinds + [["type": "null"]])
        default: return ["type": "null"]
        }
        if case .array(let words)? = members["enum"] { members["enum"] = .array(words + [.null]) }
        return .object(members)
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
