import JSON
import Testing

@testable import Agents

@Suite struct YAMLDocumentTests {
    private func read(_ text: String) throws(YAMLDocument.Failure) -> JSONValue {
        try YAMLDocument.read(Array(text.utf8))
    }

    @Test(
        arguments: [
            ("a: 1", ["a": 1]), ("a: 1.50", ["a": .number(JSONNumber(written: "1.50"))]), ("a: -2e3", ["a": -2_000]),
            ("a: 010", ["a": "010"]), ("a: 0x1F", ["a": "0x1F"]), ("a: 1_000", ["a": "1_000"]), ("a: +1", ["a": "+1"]),
            ("a: yes", ["a": "yes"]), ("a: True", ["a": "True"]), ("a: true", ["a": true]), ("a: null", ["a": .null]),
            ("a:", ["a": .null]), ("a: ~", ["a": .null]), ("a: 'null'", ["a": "null"]), ("a: \"5\"", ["a": "5"]),
            ("a: !!str 5", ["a": "5"]), ("a: 2026-11-25", ["a": "2026-11-25"]), ("a: 12:30", ["a": "12:30"]),
            ("a: .inf", ["a": ".inf"]), ("1: x", ["1": "x"]), ("on: x", ["on": "x"]), ("<<: {a: 1}", ["<<": ["a": 1]]),
            ("a: |\n  one\n  two\n", ["a": "one\ntwo\n"]), ("- 1\n- [a, {b: c}]", [1, ["a", ["b": "c"]]]), ("", .null),
            ("a: Tom & Co *now*", ["a": "Tom & Co *now*"]),
        ] as [(String, JSONValue)]) func aTextMeansWhatJSONWouldMean(_ text: String, _ value: JSONValue) throws
    {
        let found = try read(text)
        // `-2e3` and `-2000` are written differently and say the same.
        if case .number(let number)? = found["a"], case .number(let wanted)? = value["a"] {
            #expect(number.exact == wanted.exact)
        } else {
            #expect(found == value)
        }
    }

    @Test(arguments: [
        "a: &x 1\nb: *x", "a: &x [1]\nb: [*x, *x]", "? &x [a]\n: 1\n? *x\n: 2", "a: 1\na: 2", "a: 1\n\"a\": 2",
        "[a]: 1", "a: !thing 1", "a: [1", "a: *nothing", "--- 1\n--- 2", "\u{1}",
    ]) func whatCannotBeReadIsAFailure(_ text: String) {
        #expect(throws: YAMLDocument.Failure.self) { try read(text) }
    }

    @Test func aBombIsAFailure() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1..<12 {
            text +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
                + "]\n"
        }
        #expect(throws: YAMLDocument.Failure(message: "aliases (&name, *name) are not supported")) { try read(text) }
    }

    @Test(arguments: [60, 100, 900, 100_000]) func depthIsBounded(_ depth: Int) {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let dashes = String(repeating: "- ", count: depth) + "x"
        for text in [text, dashes] {
            if depth < JSONValue.depthLimit {
                #expect(throws: Never.self) { try read(text) }
            } else {
                #expect(throws: YAMLDocument.Failure.self) { try read(text) }
            }
        }
    }

    @Test func sizeIsBounded() {
        #expect(throws: YAMLDocument.Failure.self) {
            try YAMLDocument.read(Array(repeating: 0x61, count: YAMLDocument.sizeLimit + 1))
        }
        #expect(throws: YAMLDocument.Failure.self) { try YAMLDocument.read([0xFF, 0xFE]) }
    }

    @Test func aDocumentGoesThroughYAMLUnchanged() throws {
        #expect(try read(YAMLDocument.write(SalonDocument.full)) == SalonDocument.full)
    }

    @Test func aPersonCanReadIt() {
        let document: JSONValue = [
            "purpose": "to book", "name": "Salon", "slug": "salon", "context": ["role": "One.\nTwo."],
            "questions": ["When?", ["text": "Yes: or no", "type": "boolean"]], "tools": [],
            "turns": ["speaks_first": true],
        ]
        #expect(
            YAMLDocument.write(document) == """
                slug: salon
                name: Salon
                context:
                  role: |-
                    One.
                    Two.
                purpose: to book
                questions:
                  - When?
                  - text: "Yes: or no"
                    type: boolean
                tools: []
                turns:
                  speaks_first: true

                """)
    }

    @Test(arguments: [
        "", " ", "yes", "No", "null", "~", "1", "-1", "1e5", "2026-11-25", "a: b", "a #b", "#a", "- a", "? a", "*a",
        "&a", "!a", "%a", "@a", "`a", "'a", "\"a", "[a", "{a}", "a,b", "a\nb", "a\n", "\na", "a\n\nb", "a \nb", " a\nb",
        "a\tb", "\t", "tab\t\nb", "é", "안녕하세요", "a\u{85}b", "a\u{2028}b\nc", "a\u{FEFF}b", "\\", "a\\nb", "|", ">",
        "---", "...",
        "a\r\nb", "=", "<<", "{{name}}", "it's", "a - b", "a: ", "\u{7F}", "0x1", "on", "\u{1F600}",
    ]) func anyTextGoesThroughYAMLUnchanged(_ text: String) throws {
        for value in [.string(text), ["k": .string(text)], [.string(text)], [["k": .string(text)]], [[.string(text)]]]
            as [JSONValue]
        {
            #expect(try read(YAMLDocument.write(value)) == value)
        }
        guard !text.isEmpty else { return }
        #expect(try read(YAMLDocument.write([text: 1])) == [text: 1])
    }

    @Test func anyDocumentGoesThroughYAMLUnchanged() throws {
        var state: UInt64 = 7
        func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: (state >> 33) % UInt64(sides))
        }
        func value(_ depth: Int) -> JSONValue {
            switch roll(depth > 0 ? 8 : 5) {
            case 0: return .null
            case 1: return .bool(roll(2) == 0)
            case 2: return .number(Double(roll(2_000) - 1_000) / 8)
            case 3, 4:
                return .string(
                    (0..<roll(12)).map { _ in ["a", " ", "\n", ":", "#", "-", "я", "\"", "1"][roll(9)] }.joined())
            case 5: return .array((0..<roll(4)).map { _ in value(depth - 1) })
            default:
                return .object(
                    Dictionary(
                        (0..<roll(4)).map { _ in (["a", "b: c", "yes", "1", "- x"][roll(5)], value(depth - 1)) }
                    ) { $1 })
            }
        }
        for _ in 0..<500 {
            let document = value(4)
            #expect(try read(YAMLDocument.write(document)) == document, "\(document.text)")
        }
    }
}
