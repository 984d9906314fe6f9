import JSON
import Problems
import Testing

@testable import Tools

@Suite struct ToolSchemaTests {
    private func issues(_ text: String) throws -> [String] {
        let json = try JSONValue(parsing: Array(text.utf8))
        do throws(ToolIssues) {
            _ = try ToolSchema(json)
            return []
        } catch { return error.issues.map { "\($0.pointer) \($0.problem.code.name)" } }
    }

    @Test func aSchemaOfTheSubsetIsTaken() throws {
        let text = """
            {"type":"object","required":["day"],"properties":{
                "day":{"type":"string","format":"date","description":"the day"},
                "people":{"type":"integer","minimum":1,"maximum":20,"default":2},
                "kind":{"type":"string","enum":["table","room"]},
                "names":{"type":"array","maxItems":3,"items":{"type":"string","minLength":1,"maxLength":40}},
                "fixed":{"const":7},
                "where":{"type":"object","properties":{"floor":{"type":"number"},"smoke":{"type":"boolean"}}}}}
            """
        #expect(try issues(text).isEmpty)
    }

    @Test func allThatIsWrongIsTold() throws {
        let text = """
            {"type":"object","additionalProperties":false,"required":["nope","a","a"],"properties":{
                "a":{"type":"string","pattern":"^x"},"b":{"$ref":"#/x"},"c":{"type":"text"},
                "d":{"type":"array"},"e":{"type":"integer","minimum":"1"},"f":{"type":"string","maximum":3},
                "g":{"type":"string","format":"uri"},"h":{"type":"integer","enum":[1,"2"]},
                "i":{"type":"string","minLength":-1},"j":{"type":"boolean","default":"yes"},"k":7}}
            """
        #expect(
            try issues(text) == [
                "/additionalProperties keyword_not_supported", "/properties/a/pattern keyword_not_supported",
                "/properties/b/$ref keyword_not_supported", "/properties/b/type required",
                "/properties/c/type not_choice", "/properties/d/items required", "/properties/e/minimum not_number",
                "/properties/f/maximum not_beside", "/properties/g/format not_choice",
                "/properties/h/enum/1 not_of_schema_type", "/properties/i/minLength not_whole",
                "/properties/j/default not_of_schema_type", "/properties/k not_object", "/required/0 not_a_property",
                "/required/2 given_twice",
            ])
    }

    @Test func depthPropertiesAndSizeAreBounded() throws {
        func nested(_ depth: Int) -> String {
            depth == 1
                ? #"{"type":"object"}"# : #"{"type":"object","properties":{"a":\#(nested(depth - 1))}}"#
        }
        #expect(try issues(nested(5)).isEmpty)
        #expect(try issues(nested(6)).map { $0.suffix(15) } == ["nested_too_deep"])
        func wide(_ count: Int) -> String {
            let members = (0..<count).map { #""p\#($0)":{"type":"string"}"# }.joined(separator: ",")
            return #"{"type":"object","properties":{\#(members)}}"#
        }
        #expect(try issues(wide(30)).isEmpty && issues(wide(31)) == [" too_many_items"])
        let long = String(repeating: "x", count: 900)
        let members = (0..<20).map { #""p\#($0)":{"type":"string","description":"\#(long)"}"# }.joined(separator: ",")
        #expect(try issues(#"{"type":"object","properties":{\#(members)}}"#) == [" too_large"])
        #expect(try issues(#"{"type":"string"}"#) == ["/type not_choice"])
    }

    @Test func whatIsFixedIsNotShown() throws {
        let json: JSONValue = [
            "type": "object", "required": ["a", "b"], "properties": ["a": ["type": "string"], "b": ["type": "string"]],
        ]
        let shown = try ToolSchema(json).without(["b"])
        #expect(shown.json.text == #"{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}"#)
        #expect(shown.names == ["a"])
    }
}
