internal import JSON

@testable internal import Tools

/// A schema and, behind a line break, arguments: the schema of an administrator, and what a model wrote.
func fuzzToolArguments(_ input: FuzzInput) {
    let parts = input.text.utf8.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let json = try? JSONValue(parsing: Array(parts[0])) else { return }
    let value = (parts.count > 1 ? try? JSONValue(parsing: Array(parts[1])) : nil) ?? json
    // Another server's schema is not checked when it is saved.
    let violations = ArgumentCheck.violations(of: value, by: json)
    expect(violations.count <= ArgumentCheck.limit, "\(violations.count) violations are told")
    let closed = ArgumentCheck.violations(of: value, by: json, isClosed: true)
    expect(closed.count >= violations.count, "fewer violations where nothing more may be sent")
    guard let schema = try? ToolSchema(json) else { return }
    expect(schema.json == json && json.bytes.count <= ToolSchema.sizeLimit, "a schema that is not as it was sent")
    expect(schema.names.count <= ToolSchema.propertyLimit, "more properties than may be")
    // What is shown of it is a schema too, without what is fixed.
    let fixed = Set(schema.names.prefix(1))
    let shown = schema.without(fixed)
    expect(fixed.isDisjoint(with: shown.names), "a fixed argument is shown")
    expect((try? ToolSchema(shown.json)) == shown, "what is shown is no schema: \(shown.json.text)")
    expect((try? ToolSchema(JSONValue(parsing: json.bytes))) == schema, "a schema that does not survive being stored")
}
