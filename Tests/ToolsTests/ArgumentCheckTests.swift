import JSON
import Testing

@testable import Tools

@Suite struct ArgumentCheckTests {
    private func violations(_ value: String, _ schema: String, isClosed: Bool = false) throws -> [String] {
        ArgumentCheck.violations(
            of: try JSONValue(parsing: Array(value.utf8)), by: try JSONValue(parsing: Array(schema.utf8)),
            isClosed: isClosed
        ).map { "\($0.pointer) \($0.message)" }
    }

    @Test func allViolationsAreTold() throws {
        let schema = """
            {"type":"object","required":["day","who"],"properties":{
                "day":{"type":"string","format":"date"},"people":{"type":"integer","minimum":1,"maximum":9},
                "names":{"type":"array","maxItems":1,"items":{"type":"string","maxLength":2}},
                "kind":{"enum":["a","b"]},"seven":{"const":7},"deep":{"type":"object","required":["x"]}}}
            """
        let value = """
            {"day":"2026-02-30","people":9.5,"names":["abc",4],"kind":"c","seven":8,"deep":{},"more":true}
            """
        #expect(
            try violations(value, schema, isClosed: true) == [
                "/who is required", "/day must be a date, such as 2026-07-28", "/deep/x is required",
                #"/kind must be one of ["a","b"]"#, "/more is no argument of this tool", "/names has more than 1 items",
                "/names/0 must have at most 2 characters", "/names/1 must be of type string",
                "/people must be of type integer", "/seven must be 7",
            ])
        #expect(try violations(#"{"day":"2028-02-29","who":1,"people":3.0,"seven":7.0}"#, schema).isEmpty)
    }

    @Test(arguments: [
        ("date", "2026-07-28", true), ("date", "2026-7-28", false), ("date", "2026-13-01", false),
        ("date", "2026-07-28T", false), ("date", "٢٠٢٦-07-28", false), ("time", "14:30:00Z", true),
        ("time", "14:30:00.25+09:00", true), ("time", "14:30", false), ("time", "24:00:00Z", false),
        ("time", "23:59:60Z", true), ("date-time", "2026-07-28T14:30:00+09:00", true),
        ("date-time", "2026-07-28 14:30:00", false), ("email", "ann@example.org", true), ("email", "ann@", false),
        ("email", "a@b@c.de", false), ("email", "a b@c.de", false), ("uri", "anything", true),
    ])
    func formats(format: String, text: String, isGood: Bool) {
        #expect((TextFormat.problem(text, format) == nil) == isGood)
    }

    /// Another server's schema may hold what we do not know, and must not be refused for it.
    @Test func unknownKeywordsAreNotLookedAt() throws {
        let schema = """
            {"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"$ref":"#/$defs/B"},
            "c":{"type":["string","null"]}},"$defs":{"B":{"type":"integer"}}}
            """
        #expect(try violations(#"{"a":null,"b":"x","c":null,"d":1}"#, schema).isEmpty)
        #expect(try violations(#"{"c":1}"#, schema) == ["/c must be of type string or null"])
        #expect(
            try violations(#"{"d":1}"#, #"{"type":"object","properties":{},"additionalProperties":false}"#)
                == ["/d is no argument of this tool"])
    }
}
