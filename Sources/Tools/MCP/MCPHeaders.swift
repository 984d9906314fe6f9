internal import JSON

/// `x-mcp-header` (revision 2026-07-28, "Custom Headers"): arguments that are told in headers too.
enum MCPHeaders {
    private static let key = "x-mcp-header"
    private static let types: Set<String> = ["string", "integer", "boolean"]
    /// Keywords that hold a schema, a list of them, or schemas under names. `properties` is not among them.
    private static let single: Set<String> = [
        "items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties",
        "not", "if", "then", "else", "contentSchema",
    ]
    private static let lists: Set<String> = ["allOf", "anyOf", "oneOf", "prefixItems"]
    private static let maps: Set<String> = ["patternProperties", "dependentSchemas", "$defs", "definitions"]

    /// Why a tool's annotations are not valid; nil: they are. A client must leave such a tool out.
    static func problem(with schema: JSONValue) -> String? {
        var seen: Set<String> = []
        return problem(schema, path: [], &seen)
    }

    /// - Parameter path: names of properties from the root; nil: something else than properties leads here.
    private static func problem(_ schema: JSONValue, path: [String]?, _ seen: inout Set<String>) -> String? {
        guard case .object(let members) = schema else { return nil }
        if let header = members[key] {
            guard let path, !path.isEmpty else { return "\(key) stands where no argument is" }
            guard case .string(let name) = header, isToken(name) else { return "\(key) is no name of a header" }
            guard case .string(let type)? = members["type"], types.contains(type) else {
                return "\(key) stands at an argument that is neither a text, a whole number nor true or false"
            }
            guard seen.insert(name.lowercased()).inserted else { return "\(key) names \(name.prefix(40)) twice" }
        }
        for (keyword, value) in members.sorted(by: { $0.key < $1.key }) {
            var inner: [(JSONValue, [String]?)] = []
            switch value {
            case .object(let schemas) where keyword == "properties":
                inner = schemas.sorted { $0.key < $1.key }.map { name, value in (value, path.map { $0 + [name] }) }
            case .object(let schemas) where maps.contains(keyword): inner = schemas.values.map { ($0, nil) }
            case .array(let schemas) where lists.contains(keyword): inner = schemas.map { ($0, nil) }
            default: if single.contains(keyword) { inner = [(value, nil)] }
            }
            for (schema, path) in inner {
                if let problem = problem(schema, path: path, &seen) { return problem }
            }
        }
        return nil
    }

    /// The headers of a call.
    static func headers(_ arguments: JSONValue, _ schema: JSONValue) -> [(name: String, value: String)] {
        guard case .object(let properties)? = schema["properties"], case .object(let members) = arguments else {
            return []
        }
        var found: [(name: String, value: String)] = []
        for (name, schema) in properties.sorted(by: { $0.key < $1.key }) {
            guard let value = members[name] else { continue }
            if case .string(let header)? = schema[key], let text = text(value) {
                found.append(("Mcp-Param-" + header, HeaderValue.encoded(text)))
            }
            found += headers(value, schema)
        }
        return found
    }

    private static func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text
        case .bool(let flag): flag ? "true" : "false"
        case .number(let number): number.integer.map { String($0) } ?? number.text
        case .null, .array, .object: nil
        }
    }

    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 64
            && name.utf8.allSatisfy {
                switch $0 {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains($0)
                }
            }
    }
}
