import Foundation
import Testing

@testable import Net

@Suite struct HTTPFormTests {
    @Test func encodedFormsParseBack() throws {
        let fields = [("a b", "c&d=e"), ("ü", "+"), ("empty", "")]
        let read = try HTTPForm.decode(HTTPForm.encode(fields).utf8)
        #expect(read.map(\.name) == fields.map(\.0) && read.map(\.value) == fields.map(\.1))
        #expect(try HTTPForm.decode("a=b+c%21&d".utf8).map(\.value) == ["b c!", ""])
    }
    @Test(arguments: ["a=%zz", String(repeating: "a=b&", count: 201), "a=" + String(repeating: "x", count: 5_000)])
    func badFormsAreRefused(body: String) { #expect(throws: NetError.self) { try HTTPForm.decode(body.utf8) } }
}
