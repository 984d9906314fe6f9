import Calls
import Foundation
import JSON
import Problems
import Testing

@testable import API

/// One description of a request's members: what is read, what is refused and what is documented.
@Suite struct FieldTests {
    private static let form = Form(
        "Test",
        [
            Field("text", .text(5), required: true, ""), Field("note", .text(5, .paragraph), mayBeBlank: true, ""),
            Field("secret", .secret(3...5), ""), Field("count", .integer(2...4), default: 3, ""),
            Field("flag", .boolean, default: true, ""), Field("word", .choice(["a", "b"]), ""),
            Field("at", .time, ""), Field("language", .language, ""), Field("phone", .phoneNumber, ""),
            Field("callee", .callAddress, ""), Field("list", .list(.text(2), count: 1...2), ""),
            Field("inner", .object([Field("x", .boolean, required: true, "")]), ""),
            Field("open", .object([Field("x", .boolean, "")], others: true), ""), Field("free", .free, ""),
            Field("either", .textOrObject(.text(2), [Field("x", .boolean, "")]), ""), Field("value", .scalar(3), ""),
            Field("url", .url, ""),
        ])

    private func read(_ members: String) throws -> FieldReader {
        try FieldReader(Array("{\(members)}".utf8), Self.form)
    }

    @Test func valuesAreTypedAndDefaultsFilledIn() throws {
        let fields = try read(
            #"""
            "text": " ab ", "note": "  ", "secret": " abc ", "word": " a ", "at": "2026-11-21T09:30:00Z", "flag": null,
            "phone": "02-555 0100", "callee": "sip:a@b", "list": ["a"], "inner": {"x": false}, "open": {"y": 1},
            "free": {"z": []}, "either": {"x": true}, "value": 1.5, "language": "ko", "url": " a "
            """#)
        #expect(fields.errors == [])
        #expect(fields.text("text") == "ab" && fields.text("note") == nil && fields.text("secret") == " abc ")
        #expect(fields.integer("count") == 3 && fields.boolean("flag") == true && fields.text("word") == "a")
        #expect(fields.time("at") == Date(timeIntervalSince1970: 1_795_253_400) && fields.text("language") == "ko")
        #expect(fields.text("phone") == "02-555 0100" && fields.text("callee") == "sip:a@b")
        #expect(fields.list("list") == [.text("a")] && fields.values.object("inner")?.boolean("x") == false)
        #expect(fields.values.object("open") == [:] && fields.values.free("free") == ["z": []])
        #expect(fields.values.object("either")?.boolean("x") == true && fields.values["value"] == .number(1.5))
        #expect(fields.text("url") == " a ")
        #expect(fields.sent("free") == ["z": []] && fields.sent("count") == nil)
    }

    @Test(arguments: [
        (#""text":7"#, "text", ProblemCode.notText), (#""text":"  ""#, "text", .blank),
        (#""text":"abcdef""#, "text", .tooLong), (#""text":"a\nb""#, "text", .controlCharacter),
        (#""note":"a\u0007""#, "note", .controlCharacterInText), (#""secret":"ab""#, "secret", .lengthNotInRange),
        (#""secret":" abcd ""#, "secret", .tooLong), (#""count":5"#, "count", .notInRange),
        (#""count":2.5"#, "count", .notWhole), (#""count":"3""#, "count", .notNumber),
        (#""flag":"yes""#, "flag", .notBoolean), (#""word":"c""#, "word", .notChoice),
        (#""at":"today""#, "at", .notTime), (#""language":"e""#, "language", .notLanguageTag),
        (#""phone":"1""#, "phone", .notPhoneNumber), (#""callee":"1""#, "callee", .notCallAddress),
        (#""list":"a""#, "list", .notArray), (#""list":[]"#, "list", .countNotInRange),
        (#""list":["a","abc"]"#, "list[1]", .tooLong), (#""inner":{}"#, "inner.x", .required),
        (#""inner":{"x":true,"y":1}"#, "inner.y", .unknownField), (#""inner":[]"#, "inner", .notObject),
        (#""free":1"#, "free", .notObject), (#""either":1"#, "either", .notTextOrObject),
        (#""value":[]"#, "value", .notScalar), (#""value":"abcd""#, "value", .tooLong),
        (#""value":1e400"#, "value", .tooExact), (#""other":1"#, "other", .unknownField),
    ])
    func oneBadMemberIsNamedWithItsCode(member: String, field: String, code: ProblemCode) throws {
        let text = member.hasPrefix(#""text""#) ? "" : #""text":"a","#
        let errors = try read(text + member).errors
        #expect(errors.map(\.field) == [field] && errors.first?.problem.code == code, "\(errors)")
    }

    @Test func everyErrorIsFoundAndHasItsParameters() throws {
        let errors = try read(#""z":1,"count":9,"list":["abc",7]"#).errors
        #expect(errors.map(\.field) == ["z", "text", "count", "list[0]", "list[1]"])
        #expect(errors[2].problem == Problem(.notInRange, ["least": 2, "most": 4, "given": 9]))
        #expect(errors[2].message == "must lie in 2…4, not 9")
    }

    @Test func theSchemaSaysWhatTheReaderTakes() throws {
        guard case .object(let schema) = Self.form.schema(defaults: ["count": 4]),
            case .object(let members)? = schema["properties"]
        else { return #expect(Bool(false)) }
        #expect(schema["required"] == ["text"] && schema["additionalProperties"] == false)
        #expect(members.count == Self.form.fields.count)
        #expect(
            members["count"] == [
                "anyOf": [["type": "integer", "minimum": 2, "maximum": 4], ["type": "null"]], "default": 4,
                "description": "",
            ])
        #expect(
            members["text"] == ["type": "string", "minLength": 1, "maxLength": 5, "description": ""])
    }

    /// Of the forms that there are: a text one character too long and a number one too large are refused.
    @Test func theLimitsOfEveryFormAreKept() throws {
        #expect(OpenAPI.forms.count > 12)
        for form in OpenAPI.forms {
            // Documents of a megabyte are left to the end-to-end tests.
            for field in form.fields where field.kind.textLimit ?? 0 < 100_000 {
                let value: JSONValue
                switch field.kind {
                case .text(let limit, _): value = .string(String(repeating: "a", count: limit + 1))
                case .secret(let range): value = .string(String(repeating: "a", count: range.upperBound + 1))
                case .integer(let range): value = .whole(range.upperBound + 1)
                case .choice(let words): value = .string(words.joined())
                case .list(_, let count): value = .array(Array(repeating: "1234", count: count.upperBound + 1))
                default: value = .array([.null])
                }
                let errors = try FieldReader(JSONValue.object([field.name: value]).bytes, form).errors
                #expect(errors.contains { $0.field == field.name && $0.problem.code != .required }, "\(field.name)")
                #expect(!field.help.isEmpty, "\(form.name).\(field.name)")
            }
        }
    }

    @Test func formsHaveTheirOwnNamesAndDefaults() throws {
        let paths = OpenAPI.forms.compactMap(\.path)
        #expect(Set(paths).count == paths.count && paths.contains("outbound"))
        var settings = CallSettings()
        settings.retry.maxRetries = 7
        settings.maxCallDuration = 60
        let defaults = CallRequest.form.defaults(settings)
        #expect(defaults["max_retries"] == 7 && defaults["max_duration"] == 60)
    }
}
