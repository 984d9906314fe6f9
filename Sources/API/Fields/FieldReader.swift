internal import Calls
internal import Foundation
internal import JSON
internal import Problems
internal import Realtime

/// Walks a request beside its description: hands over typed values, and notes everything that is wrong.
struct FieldReader {
    /// The longest name of a field in an error, characters: it may be the sender's own.
    private static let nameLimit = 100

    private let members: [String: JSONValue]
    private(set) var values: FieldValues = [:]
    private(set) var errors: [APIError.Field] = []

    /// - Throws: the body is no JSON, or no object. What else is wrong is noted.
    init(_ body: [UInt8], _ form: Form) throws(APIError) {
        members = try Self.members(of: body)
        values = read(form.fields, members, under: "", isClosed: true)
    }

    /// A body's members, for a document that its own room checks.
    /// - Throws: the body is no JSON, or no object.
    static func members(of body: [UInt8]) throws(APIError) -> [String: JSONValue] {
        let json: JSONValue
        do throws(JSONValue.ParseError) { json = try JSONValue(parsing: body) } catch {
            throw APIError(
                error.isRepetition ? 422 : 400, "invalid_json", .invalidJson,
                ["problem": .text(error.message), "place": .number(error.offset)])
        }
        guard case .object(let members) = json else { throw APIError(400, "invalid_json", .bodyNotObject) }
        return members
    }

    /// For an object that is a part of a body.
    init(_ members: [String: JSONValue], _ form: Form) {
        self.members = members
        values = read(form.fields, members, under: "", isClosed: true)
    }

    /// For the parameters of a query.
    init() { members = [:] }

    // MARK: Values: nil where there is none, or a bad one

    func text(_ name: String) -> String? { values.text(name) }
    func integer(_ name: String) -> Int? { values.integer(name) }
    func boolean(_ name: String) -> Bool? { values.boolean(name) }
    func time(_ name: String) -> Date? { values.time(name) }
    func list(_ name: String) -> [FieldValue?]? { values.list(name) }
    func choice<Word: RawRepresentable>(_ name: String, as type: Word.Type) -> Word? where Word.RawValue == String {
        values.choice(name, as: type)
    }

    /// A member as it was sent; nil: it was left out.
    func sent(_ name: String) -> JSONValue? { members[name] }

    // MARK: What is wrong

    mutating func fail(_ field: String, _ code: ProblemCode, _ params: [String: Problem.Value] = [:]) {
        fail(field, Problem(code, params))
    }

    mutating func fail(_ field: String, _ problem: Problem) {
        errors.append(.init(field: String(field.prefix(Self.nameLimit)), problem: problem))
    }

    func hasFailed(_ field: String) -> Bool { errors.contains { $0.field == field } }

    /// Notes a field that only this request needs.
    mutating func require(_ name: String) {
        if values[name] == nil, !hasFailed(name) { fail(name, .required) }
    }

    /// Notes fields that were sent although others exclude them.
    mutating func exclude(_ names: [String], beside others: [String]) {
        for name in names where members[name] != nil { fail(name, .notBeside, ["fields": .words(others)]) }
    }

    /// - Throws: all that was noted.
    func check() throws(APIError) { if !errors.isEmpty { throw APIError.invalid(errors) } }

    // MARK: Reading

    private mutating func read(
        _ fields: [Field], _ members: [String: JSONValue], under prefix: String, isClosed: Bool
    ) -> FieldValues {
        if isClosed {
            let known = Set(fields.map(\.name))
            for name in members.keys.sorted() where !known.contains(name) { fail(prefix + name, .unknownField) }
        }
        var values: FieldValues = [:]
        for field in fields {
            switch members[field.name] {
            case nil, .null:
                if field.isRequired { fail(prefix + field.name, .required) }
                values[field.name] = field.usual.flatMap { read($0, field.kind, prefix + field.name) }
            case let value?:
                values[field.name] = read(value, field.kind, prefix + field.name, mayBeBlank: field.mayBeBlank)
            }
        }
        return values
    }

    /// - Parameter name: of the field, as it stands in an error.
    private mutating func read(
        _ value: JSONValue, _ kind: Field.Kind, _ name: String, mayBeBlank: Bool = false
    ) -> FieldValue? {
        switch (kind, value) {
        case (.textOrObject(let text, _), .string): return read(value, text, name)
        case (.textOrObject(_, let fields), .object(let members)):
            return .object(read(fields, members, under: name + ".", isClosed: true))
        case (.object(let fields, let others), .object(let members)):
            return .object(read(fields, members, under: name + ".", isClosed: !others))
        case (.free, .object(let members)), (.textOrFree, .object(let members)): return .free(members)
        case (.textOrFree(let text), .string): return read(value, text, name)
        case (.texts(let count, let limit, let valueLimit), .object(let members)):
            guard members.count <= count else {
                fail(name, .tooManyItems, ["limit": .number(count)])
                return nil
            }
            return .object(texts(members, limit, valueLimit, under: name + "."))
        case (.list(let kind, let range), .array(let items)):
            guard range.contains(items.count) else {
                fail(name, Self.problem(with: items.count, range))
                return nil
            }
            var values: [FieldValue?] = []
            for (index, item) in items.enumerated() { values.append(read(item, kind, "\(name)[\(index)]")) }
            return .list(values)
        case (.boolean, .bool(let value)): return .boolean(value)
        case (.integer(let range), .number(let number)): return integer(number, range, name)
        case (.scalar, .bool(let value)): return .boolean(value)
        case (.scalar, .number(let number)):
            if number.exact == nil { fail(name, .tooExact) }
            return number.exact.map(FieldValue.number)
        case (.scalar(let limit), .string(let value)):
            if value.count > limit { fail(name, .tooLong, ["limit": .number(limit)]) }
            if let problem = TextRule.paragraph.problem(with: value) { fail(name, problem) }
            return .text(value)
        case (_, .string(let value)):
            guard let problem = Self.mismatch(kind) else { return text(value, kind, name, mayBeBlank: mayBeBlank) }
            fail(name, problem)
        default: fail(name, Self.mismatch(kind) ?? .notText)
        }
        return nil
    }

    private mutating func texts(
        _ members: [String: JSONValue], _ nameLimit: Int, _ valueLimit: Int, under prefix: String
    ) -> FieldValues {
        var values: FieldValues = [:]
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard case .string(let text) = value else {
                fail(prefix + name, .notText)
                continue
            }
            if name.isEmpty { fail(prefix + name, .blank) }
            if name.count > nameLimit { fail(prefix + name, .tooLong, ["limit": .number(nameLimit)]) }
            if text.count > valueLimit { fail(prefix + name, .tooLong, ["limit": .number(valueLimit)]) }
            if let problem = TextRule.line.problem(with: name) ?? TextRule.line.problem(with: text) {
                fail(prefix + name, problem)
            }
            values[name] = .text(text)
        }
        return values
    }

    /// The kind of value that is wanted; nil: a text.
    private static func mismatch(_ kind: Field.Kind) -> ProblemCode? {
        switch kind {
        case .integer: .notNumber
        case .boolean: .notBoolean
        case .list: .notArray
        case .object, .free, .texts: .notObject
        case .textOrObject, .textOrFree: .notTextOrObject
        case .scalar: .notScalar
        case .text, .secret, .choice, .url, .time, .language, .phoneNumber, .callAddress: nil
        }
    }

    private static func problem(with count: Int, _ range: ClosedRange<Int>) -> Problem {
        range.lowerBound == 0
            ? Problem(.tooManyItems, ["limit": .number(range.upperBound)])
            : Problem(
                .countNotInRange,
                ["least": .number(range.lowerBound), "most": .number(range.upperBound), "count": .number(count)])
    }

    private mutating func integer(_ number: JSONNumber, _ range: ClosedRange<Int>, _ name: String) -> FieldValue? {
        guard let integer = number.integer else {
            fail(name, .notWhole)
            return nil
        }
        guard range.contains(integer) else {
            fail(
                name, .notInRange,
                ["least": .number(range.lowerBound), "most": .number(range.upperBound), "given": .number(integer)])
            return nil
        }
        return .integer(integer)
    }

    private mutating func text(_ value: String, _ kind: Field.Kind, _ name: String, mayBeBlank: Bool) -> FieldValue? {
        let trimmed = value.trimmingCharacters(in: .whitespacesAndNewlines)
        if trimmed.isEmpty {
            if !mayBeBlank { fail(name, .blank) }
            return nil
        }
        var length = trimmed.count, rule = TextRule.line
        switch kind {
        case .text(_, let special): rule = special
        // Space around it counts too.
        case .secret: length = value.count
        default: break
        }
        if let limit = kind.textLimit, length > limit {
            fail(name, .tooLong, ["limit": .number(limit)])
            return nil
        }
        // The rule covers the end too: a name with a line break behind it is a mistake.
        if let problem = rule.problem(with: value) {
            fail(name, problem)
            return nil
        }
        switch kind {
        case .secret(let range):
            if !range.contains(length) {
                fail(
                    name, .lengthNotInRange,
                    ["least": .number(range.lowerBound), "most": .number(range.upperBound)])
                return nil
            }
            return .text(value)
        case .url: return .text(value)
        case .choice(let values):
            if values.contains(trimmed) { return .text(trimmed) }
            fail(name, .notChoice, ["names": .words(values)])
        case .time:
            if let date = Timestamp.parse(trimmed) { return .time(date) }
            fail(name, .notTime, ["example": .text(Timestamp.example)])
        case .language:
            if LanguageTag.isWellFormed(trimmed) { return .text(trimmed) }
            fail(name, .notLanguageTag)
        case .phoneNumber:
            if Routing.normalize(trimmed) != nil { return .text(trimmed) }
            fail(name, .notPhoneNumber)
        case .callAddress:
            if CallAddress(trimmed) != nil { return .text(trimmed) }
            fail(name, .notCallAddress)
        default: return .text(trimmed)
        }
        return nil
    }

    /// One parameter of a query: numbers and times are texts there.
    mutating func take(_ field: Field, _ value: String) {
        if let limit = field.kind.textLimit, value.count > limit {
            return fail(field.name, .tooLong, ["limit": .number(limit)])
        }
        switch field.kind {
        case .integer(let range):
            if value.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(value), range.contains(number) {
                values[field.name] = .integer(number)
            } else {
                fail(
                    field.name, .notNumberInRange,
                    ["least": .number(range.lowerBound), "most": .number(range.upperBound)])
            }
        // A "+" of an offset arrives as a space when it was not escaped.
        case .time: values[field.name] = read(.string(value.replacing(" ", with: "+")), field.kind, field.name)
        default: values[field.name] = read(.string(value), field.kind, field.name, mayBeBlank: field.mayBeBlank)
        }
    }

    /// What a parameter is where it was left out.
    mutating func takeDefault(_ field: Field) {
        values[field.name] = field.usual.flatMap { read($0, field.kind, field.name) }
    }
}
