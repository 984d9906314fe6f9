internal import Calls
internal import Delivery
internal import Foundation
internal import JSON
internal import Problems
internal import Realtime

/// A member of a request's body, or a parameter of a query: described once.
///
/// The same description checks what is sent (`FieldReader`, `QueryReader`), documents it (`schema`, `/openapi.json`)
/// and
/// limits the dashboard's forms (`GET /api/forms/{name}`).
struct Field: Sendable {
    /// What a value may be.
    indirect enum Kind: Sendable {
        /// Characters at most. Space around a text does not count and is taken away.
        case text(Int, TextRule = .line)
        /// A password: as it is, to the last space.
        case secret(ClosedRange<Int>)
        case integer(ClosedRange<Int>)
        case boolean
        case choice([String])
        /// An address for webhooks, as it was sent: space around it makes it a bad one.
        case url
        /// RFC 3339, with an offset.
        case time
        /// BCP 47.
        case language
        /// A telephone number, of 3 to 15 digits.
        case phoneNumber
        /// A telephone number or a `sip:` address.
        case callAddress
        case list(Kind, count: ClosedRange<Int>)
        /// - Parameter others: it may have members that are not described.
        case object([Field], others: Bool = false)
        /// Any object.
        case free
        /// An object of at most so many texts, with characters of a name and of a text. A text may be empty.
        case texts(count: Int, name: Int, value: Int)
        /// A text, or an object that says more than it.
        case textOrObject(Kind, [Field])
        /// true or false, a number, or a text of so many characters.
        case scalar(Int)
    }

    var name: String
    var kind: Kind
    var isRequired: Bool
    /// Taken where the field is left out.
    var usual: JSONValue?
    /// A blank text is as none, for a program that clears a field so.
    var mayBeBlank: Bool
    /// What it means, in a few words.
    var help: String

    init(
        _ name: String, _ kind: Kind, required: Bool = false, default usual: JSONValue? = nil, mayBeBlank: Bool = false,
        _ help: String
    ) {
        self.name = name
        self.kind = kind
        isRequired = required
        self.usual = usual
        self.mayBeBlank = mayBeBlank
        self.help = help
    }
}

extension Field.Kind {
    /// Characters of a telephone number as it is written, and of a parameter that is one word.
    static let wordLimit = 64
    /// Characters of a `sip:` address.
    static let addressLimit = 256

    /// Characters of a text as it is written; nil: the kind is no text.
    var textLimit: Int? {
        switch self {
        case .text(let limit, _): limit
        case .secret(let range): range.upperBound
        case .choice, .phoneNumber, .integer: Self.wordLimit
        case .url: WebhookSender.urlLimit
        case .time: Timestamp.lengthLimit
        case .language: LanguageTag.lengthLimit
        case .callAddress: Self.addressLimit
        case .boolean, .list, .object, .free, .texts, .textOrObject, .scalar: nil
        }
    }
}

/// A request's body: its members, and how it is named where it is documented.
struct Form: Sendable {
    /// Of its schema in `/openapi.json`.
    var name: String
    /// Of `GET /api/forms/{name}`; nil: no page fills it in.
    var path: String?
    var fields: [Field]
    /// Defaults that are the server's settings.
    var defaults: @Sendable (CallSettings) -> [String: JSONValue]
    /// What else this server's forms say of a field: members of its schema.
    var notes: @Sendable (CallSettings) -> [String: [String: JSONValue]]

    init(
        _ name: String, path: String? = nil, _ fields: [Field],
        defaults: @escaping @Sendable (CallSettings) -> [String: JSONValue] = { _ in [:] },
        notes: @escaping @Sendable (CallSettings) -> [String: [String: JSONValue]] = { _ in [:] }
    ) {
        self.name = name
        self.path = path
        self.fields = fields
        self.defaults = defaults
        self.notes = notes
    }
}

/// A member as it was read.
enum FieldValue: Sendable, Equatable {
    case text(String)
    case integer(Int)
    case number(Double)
    case boolean(Bool)
    case time(Date)
    /// nil: an item that is not acceptable.
    case list([FieldValue?])
    case object(FieldValues)
    case free([String: JSONValue])
}

typealias FieldValues = [String: FieldValue]

extension FieldValues {
    func text(_ name: String) -> String? {
        if case .text(let value)? = self[name] { value } else { nil }
    }
    func integer(_ name: String) -> Int? {
        if case .integer(let value)? = self[name] { value } else { nil }
    }
    func boolean(_ name: String) -> Bool? {
        if case .boolean(let value)? = self[name] { value } else { nil }
    }
    func time(_ name: String) -> Date? {
        if case .time(let value)? = self[name] { value } else { nil }
    }
    func list(_ name: String) -> [FieldValue?]? {
        if case .list(let value)? = self[name] { value } else { nil }
    }
    func object(_ name: String) -> FieldValues? {
        if case .object(let value)? = self[name] { value } else { nil }
    }
    func free(_ name: String) -> [String: JSONValue]? {
        if case .free(let value)? = self[name] { value } else { nil }
    }
    /// One of some words.
    func choice<Word: RawRepresentable>(_ name: String, as type: Word.Type) -> Word? where Word.RawValue == String {
        text(name).flatMap { Word(rawValue: $0) }
    }
}
