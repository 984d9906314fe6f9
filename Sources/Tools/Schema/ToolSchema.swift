public import JSON
internal import Problems

/// The schema of a tool's arguments: a subset of JSON Schema 2020-12 that every model's interface takes
/// (json-schema.org/draft/2020-12). It is checked when it is saved.
public struct ToolSchema: Sendable, Equatable {
    /// Objects and arrays inside each other, the arguments themselves counted.
    public static let depthLimit = 5
    /// Properties of all objects together.
    public static let propertyLimit = 30
    /// Bytes of the schema as JSON text.
    public static let sizeLimit = 16 << 10
    /// Values of one `enum`, and characters of a property's name and of a description.
    public static let choiceLimit = 100, nameLimit = 64, descriptionLimit = 1_000

    public static let types = ["object", "array", "string", "number", "integer", "boolean"]
    public static let formats = ["date", "time", "date-time", "email"]

    /// The keywords of the subset.
    static let keywords: Set<String> = [
        "type", "properties", "required", "enum", "const", "description", "items", "default", "minimum", "maximum",
        "minLength", "maxLength", "maxItems", "format",
    ]

    /// Arguments of a tool that has none.
    public static let empty = ToolSchema(unchecked: ["type": "object", "properties": [:]])

    public let json: JSONValue

    private init(unchecked json: JSONValue) { self.json = json }

    /// - Parameter pointer: the schema's place in the document, for the issues.
    /// - Throws: all that is wrong with it.
    public init(_ json: JSONValue, at pointer: JSONPointer = JSONPointer()) throws(ToolIssues) {
        var check = SchemaCheck()
        let size = json.bytes.count
        if size > Self.sizeLimit {
            throw ToolIssues([ToolIssue(pointer, .tooLarge, ["limit": .number(Self.sizeLimit)])])
        }
        check.read(json, at: pointer, depth: 1)
        if json["type"] != "object" { check.fail(pointer / "type", .notChoice, ["names": .words(["object"])]) }
        if check.properties > Self.propertyLimit {
            check.fail(pointer, .tooManyItems, ["limit": .number(Self.propertyLimit)])
        }
        if !check.issues.isEmpty { throw ToolIssues(check.issues) }
        self.json = json
    }

    /// Names of the arguments, sorted.
    public var names: [String] {
        guard case .object(let members)? = json["properties"] else { return [] }
        return members.keys.sorted()
    }

    /// The schema without some arguments: those that the model is not asked for.
    public func without(_ names: Set<String>) -> ToolSchema {
        guard case .object(var members) = json, case .object(var properties)? = members["properties"] else {
            return self
        }
        for name in names { properties[name] = nil }
        members["properties"] = .object(properties)
        if case .array(let required)? = members["required"] {
            let left = required.filter { if case .string(let name) = $0 { !names.contains(name) } else { true } }
            members["required"] = left.isEmpty ? nil : .array(left)
        }
        return ToolSchema(unchecked: .object(members))
    }
}

/// Walks a schema and notes everything that is wrong with it.
private struct SchemaCheck {
    var issues: [ToolIssue] = []
    var properties = 0

    mutating func fail(_ pointer: JSONPointer, _ code: ProblemCode, _ params: [String: Problem.Value] = [:]) {
        issues.append(ToolIssue(pointer, code, params))
    }

    mutating func read(_ schema: JSONValue, at pointer: JSONPointer, depth: Int) {
        guard case .object(let members) = schema else { return fail(pointer, .notObject) }
        guard depth <= ToolSchema.depthLimit else {
            return fail(pointer, .nestedTooDeep, ["limit": .number(ToolSchema.depthLimit)])
        }
        for keyword in members.keys.sorted() where !ToolSchema.keywords.contains(keyword) {
            fail(pointer / keyword, .keywordNotSupported, ["keyword": .text(String(keyword.prefix(40)))])
        }
        let type = type(members, at: pointer)
        text(members["description"], ToolSchema.descriptionLimit, at: pointer / "description")
        nested(members, type, at: pointer, depth: depth)
        bounds(members, type, at: pointer)
        values(members, schema, at: pointer)
        if let format = members["format"] {
            belongs("format", to: ["string"], type, at: pointer)
            if case .string(let name) = format, ToolSchema.formats.contains(name) {
            } else {
                fail(pointer / "format", .notChoice, ["names": .words(ToolSchema.formats)])
            }
        }
    }

    private mutating func type(_ members: [String: JSONValue], at pointer: JSONPointer) -> String? {
        guard let type = members["type"] else {
            // What is one of given values needs no type.
            if members["enum"] == nil, members["const"] == nil { fail(pointer / "type", .required) }
            return nil
        }
        guard case .string(let name) = type, ToolSchema.types.contains(name) else {
            fail(pointer / "type", .notChoice, ["names": .words(ToolSchema.types)])
            return nil
        }
        return name
    }

    private mutating func text(_ value: JSONValue?, _ limit: Int, at pointer: JSONPointer) {
        guard let value else { return }
        guard case .string(let text) = value else { return fail(pointer, .notText) }
        if text.count > limit { fail(pointer, .tooLong, ["limit": .number(limit)]) }
    }

    /// A keyword that means nothing for this type.
    private mutating func belongs(_ keyword: String, to types: [String], _ type: String?, at pointer: JSONPointer) {
        if let type, !types.contains(type) { fail(pointer / keyword, .notBeside, ["fields": .words(["type " + type])]) }
    }

    private mutating func nested(
        _ members: [String: JSONValue], _ type: String?, at pointer: JSONPointer, depth: Int
    ) {
        var known: Set<String> = []
        if let value = members["properties"] {
            belongs("properties", to: ["object"], type, at: pointer)
            if case .object(let inner) = value {
                known = Set(inner.keys)
                properties += inner.count
                for (name, schema) in inner.sorted(by: { $0.key < $1.key }) {
                    let place = pointer / "properties" / name
                    if name.isEmpty { fail(place, .blank) }
                    if name.count > ToolSchema.nameLimit {
                        fail(place, .tooLong, ["limit": .number(ToolSchema.nameLimit)])
                    }
                    read(schema, at: place, depth: depth + 1)
                }
            } else {
                fail(pointer / "properties", .notObject)
            }
        }
        if let value = members["required"] {
            belongs("required", to: ["object"], type, at: pointer)
            guard case .array(let names) = value else { return fail(pointer / "required", .notArray) }
            var seen: Set<String> = []
            for (index, name) in names.enumerated() {
                let place = pointer / "required" / index
                guard case .string(let name) = name else {
                    fail(place, .notText)
                    continue
                }
                if !seen.insert(name).inserted { fail(place, .givenTwice) }
                if !known.contains(name) { fail(place, .notAProperty, ["name": .text(String(name.prefix(64)))]) }
            }
        }
        if let items = members["items"] {
            belongs("items", to: ["array"], type, at: pointer)
            read(items, at: pointer / "items", depth: depth + 1)
        } else if type == "array" {
            // Models' interfaces refuse an array without it.
            fail(pointer / "items", .required)
        }
    }

    private mutating func bounds(_ members: [String: JSONValue], _ type: String?, at pointer: JSONPointer) {
        for keyword in ["minimum", "maximum"] {
            guard let value = members[keyword] else { continue }
            belongs(keyword, to: ["number", "integer"], type, at: pointer)
            if case .number(let number) = value, number.exact != nil {
            } else {
                fail(pointer / keyword, .notNumber)
            }
        }
        for (keyword, kind) in [("minLength", "string"), ("maxLength", "string"), ("maxItems", "array")] {
            guard let value = members[keyword] else { continue }
            belongs(keyword, to: [kind], type, at: pointer)
            if case .number(let number) = value, let whole = number.integer, whole >= 0 {
            } else {
                fail(pointer / keyword, .notWhole)
            }
        }
    }

    private mutating func values(_ members: [String: JSONValue], _ schema: JSONValue, at pointer: JSONPointer) {
        var given: [(JSONPointer, JSONValue)] = []
        if let value = members["enum"] {
            if case .array(let choices) = value, (1...ToolSchema.choiceLimit).contains(choices.count) {
                given += choices.enumerated().map { (pointer / "enum" / $0.offset, $0.element) }
            } else if case .array(let choices) = value {
                fail(
                    pointer / "enum", .countNotInRange,
                    ["least": 1, "most": .number(ToolSchema.choiceLimit), "count": .number(choices.count)])
            } else {
                fail(pointer / "enum", .notArray)
            }
        }
        for keyword in ["const", "default"] {
            if let value = members[keyword] { given.append((pointer / keyword, value)) }
        }
        // They must be of the type that the schema itself names.
        guard let type = members["type"] else { return }
        for (place, value) in given where !ArgumentCheck.violations(of: value, by: ["type": type]).isEmpty {
            fail(place, .notOfSchemaType)
        }
    }
}
