import Testing

@testable import JSON

@Suite struct TemplateTests {
    private let values = ["name": "Ann", "variables.tier": "gold", "tools.slots.first": "{{name}}"]

    private func fill(_ text: String) throws -> String {
        try Template(text).filled { values[$0.joined(separator: ".")] }
    }

    @Test(arguments: [
        ("Hello {{name}}!", "Hello Ann!"), ("{{ name }}{{variables.tier}}", "Anngold"), ("no places", "no places"),
        ("{{city|your town}}", "your town"), ("{{city|}}.", "."), ("{{city}}.", "."), ("{{name|x}}", "Ann"),
        ("{{city|a | b}}", "a | b"), ("{ {name} }", "{ {name} }"), ("", ""), ("a}}b", "a}}b"),
    ])
    func placesAreFilled(text: String, filled: String) throws { #expect(try fill(text) == filled) }

    /// What a tool or a caller says cannot ask for another value.
    @Test func aValueIsNotReadAsATemplate() throws { #expect(try fill("{{tools.slots.first}}") == "{{name}}") }

    @Test func placesAreKnown() throws {
        #expect(
            try Template("{{a.b}} {{c|none}}").places == [
                .init(path: ["a", "b"], fallback: nil), .init(path: ["c"], fallback: "none"),
            ])
    }

    @Test(arguments: ["{{name", "{{", "a {{b}} {{c"]) func anOpenPlaceIsAnError(text: String) {
        #expect(throws: Template.Failure.unclosed) { _ = try Template(text) }
    }

    @Test(arguments: ["{{}}", "{{a..b}}", "{{.a}}", "{{a b}}", "{{#if a}}", "{{a+b}}", "{{é}}", "{{{a}}}"])
    func whatIsNoPathIsAnError(text: String) {
        #expect(throws: Template.Failure.self) { _ = try Template(text) }
    }
}
