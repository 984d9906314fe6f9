internal import Net

/// How the messages of a dialect look on the wire, for a reader that does not trust the dialect's codec. A dialect that
/// declares nothing is looked at as far as `DialectTraits` goes.
public struct WireShape: Sendable {
    public enum Text: Sendable {
        /// Every text message is a JSON object.
        case json
        /// It may also be one line: a name, and what belongs to it.
        case jsonOrLine
        /// Nothing is known of it.
        case free
    }

    public var text = Text.json
    /// Members that may name a message; the first that holds a text does.
    public var nameKeys = ["event", "type", "action", "command"]
    /// What an application may send as text; empty: it is not declared.
    public var messages: [MessageShape] = []
    /// Where a text message holds sound, in Base64; nil: sound is binary.
    public var soundPath: String?
    /// Where a message of an application repeats the stream's id; nil: none does.
    public var streamIDPath: String?
    /// The stream's id that a carrier's message announces.
    public var announcedID: @Sendable (WireMessage) -> String? = { _ in nil }
    /// The format that a message of either side settles: no sound may be sent before.
    public var format: @Sendable (WireMessage) -> WireFormat? = { _ in nil }
    /// Ids as the carrier makes them: with a prefix before 32 hexadecimal digits, or UUIDs.
    public var idPrefixes: (stream: String, call: String)?

    public init() {}
}

/// A text message that an application may send.
public struct MessageShape: Sendable {
    public var name: String
    public var fields: [FieldShape]

    public init(_ name: String, _ fields: FieldShape...) {
        self.name = name
        self.fields = fields
    }
}

/// A member of a message.
public struct FieldShape: Sendable {
    public enum Kind: Sendable {
        case text, number, wholeNumber, object, list
        /// A number, or its digits as a text.
        case numeral
        case oneOf([String])

        var words: String {
            switch self {
            case .text: "a string"
            case .number: "a number"
            case .wholeNumber: "a whole number"
            case .object: "an object"
            case .list: "an array"
            case .numeral: "a number or its digits"
            case .oneOf(let values): "one of " + values.joined(separator: ", ")
            }
        }
    }

    /// Names with dots between them.
    public var path: String
    public var kind: Kind
    public var isRequired: Bool

    public init(_ path: String, _ kind: Kind, isRequired: Bool = true) {
        self.path = path
        self.kind = kind
        self.isRequired = isRequired
    }

    /// What is wrong with it in this message; nil: nothing.
    func problem(in message: WireValue) -> String? {
        guard let value = message[path] else { return isRequired ? "\(path) is missing" : nil }
        let isRight: Bool =
            switch kind {
            case .text: value.text != nil
            case .number: value.number != nil
            case .wholeNumber: value.number.map { $0 == $0.rounded() } ?? false
            case .object: value.isObject
            case .list: if case .list = value { true } else { false }
            case .numeral: value.numeral != nil
            case .oneOf(let values): value.text.map { values.contains($0) } ?? false
            }
        return isRight ? nil : "\(path) is not \(kind.words)"
    }
}
