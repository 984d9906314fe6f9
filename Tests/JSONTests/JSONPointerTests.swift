import Testing

@testable import JSON

@Suite struct JSONPointerTests {
    /// The document and the pointers of RFC 6901 §5.
    @Test(
        arguments: [
            ("", nil), ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"),
            ("/m~0n", "8"), ("/foo/2", nil), ("/foo/00", nil), ("/foo/-1", nil), ("/none", nil), ("/foo/0/x", nil),
        ] as [(String, String?)])
    func placesOfTheStandardAreFound(pointer: String, value: String?) throws {
        let document = try JSONValue(
            parsing: Array(#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8}"#.utf8))
        let found = try document[#require(JSONPointer(pointer))]
        #expect(found?.text == (pointer.isEmpty ? document.text : value))
        #expect(JSONPointer(pointer)?.description == pointer)
    }

    @Test(arguments: ["foo", "/a~", "/a~2", "#/foo", String(repeating: "/a", count: 600)])
    func otherTextsAreNoPointers(text: String) { #expect(JSONPointer(text) == nil) }

    @Test func pointersGrow() { #expect((JSONPointer() / "questions" / 0 / "a/b").description == "/questions/0/a~1b") }
}
