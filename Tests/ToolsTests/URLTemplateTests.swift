import JSON
import Testing

@testable import Tools

@Suite struct URLTemplateTests {
    private func filled(_ text: String, _ variables: [String: JSONValue]) throws -> String {
        var issues: [ToolIssue] = []
        let url = try #require(URLTemplate.read(text, ToolAddresses(), at: JSONPointer(), &issues))
        #expect(issues.isEmpty)
        return try url.filled(
            ToolValues(callID: "c", direction: "inbound", variables: variables), more: [("z", "1 2")])
    }

    @Test func valuesAreEncoded() throws {
        #expect(
            try filled("https://a.example.org/v1/{{x}}.json?q={{x}}&n={{n|none}}", ["x": "a bü?&#"])
                == "https://a.example.org/v1/a%20b%C3%BC%3F%26%23.json?q=a%20b%C3%BC%3F%26%23&n=none&z=1%202")
        #expect(try filled("https://a.example.org?q={{x}}", ["x": "a/b"]) == "https://a.example.org?q=a%2Fb&z=1%202")
        #expect(try filled("https://a.example.org/{{x}}", ["x": 7]) == "https://a.example.org/7?z=1%202")
    }

    @Test(arguments: ["a/b", "..", ".", "a\\b", "%2e%2e", "%252e%252e", "a%2fb", "%25252f", ""])
    func aValueThatLeadsElsewhereIsRefused(value: String) {
        #expect(throws: URLTemplate.Refusal.self) {
            try filled("https://a.example.org/v1/{{x}}/end", ["x": .string(value)])
        }
    }
}
