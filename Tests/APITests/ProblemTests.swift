import Foundation
import JSON
import Net
import Problems
import Testing

@testable import API

@Suite struct ProblemTests {
    @Test func theMessageIsTheCodesTextWithItsParameters() {
        #expect(ProblemCode.tooLong.name == "too_long" && ProblemCode.blank.name == "blank")
        #expect(Problem(.tooLong, ["limit": 5]).message == "is longer than 5 characters")
        #expect(Problem(.notChoice, ["names": .words(["a", "b"])]).message == "must be one of a, b")
        #expect(
            Problem(.blocked, ["rule": "x", "problem": .problem(Problem(.onDoNotCallList))]).message
                == "blocked by x: the callee is on the do-not-call list")
        // A value from outside is not read as a parameter's name.
        #expect(Problem(.noCallNamed, ["id": "{id}"]).message == "there is no call {id}")
        #expect(Problem(.noCallNamed).message == "there is no call {id}")
    }

    @Test func namesAreDifferent() {
        #expect(Set(ProblemCode.allCases.map(\.name)).count == ProblemCode.allCases.count)
    }

    @Test func problemDetailsHaveCodeAndParameters() throws {
        let error = APIError.invalid("a", .tooLong, ["limit": 5])
        guard case .bytes(let bytes) = error.response.body else { return #expect(Bool(false)) }
        let body = try JSONValue(parsing: bytes)
        #expect(
            body == [
                "type": "/problems/invalid", "title": "Unprocessable Content", "status": 422, "code": "invalid",
                "detail": "1 field is not acceptable", "detail_code": "field_not_acceptable", "params": [:],
                "errors": [
                    [
                        "field": "a", "message": "is longer than 5 characters", "code": "too_long",
                        "params": ["limit": 5],
                    ]
                ],
            ])
    }

    /// The dashboard's dictionary has one line for each code, and the same parameters stand in it.
    @Test func everyCodeHasItsTranslation() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let lines = try String(contentsOf: root.appendingPathComponent("web/ko-server.js"), encoding: .utf8)
            .split(separator: "\n").compactMap { try? #/  (\w+): "(.*)",/#.wholeMatch(in: $0) }
        #expect(Set(lines.map { String($0.1) }) == Set(ProblemCode.allCases.map(\.name)))
        #expect(lines.count == ProblemCode.allCases.count)
        for line in lines {
            let code = try #require(ProblemCode.allCases.first { $0.name == line.1 })
            #expect(Self.names(in: line.2) == Self.names(in: code.rawValue), "\(code.name)")
            #expect(line.2.unicodeScalars.contains { (0xAC00...0xD7A3).contains($0.value) }, "\(code.name)")
        }
    }

    private static func names(in text: some StringProtocol) -> [String] {
        String(text).matches(of: /\{(\w+)\}/).map { String($0.1) }.sorted()
    }
}
