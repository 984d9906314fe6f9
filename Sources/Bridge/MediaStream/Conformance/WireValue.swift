internal import Foundation

/// A JSON text as a tree, read strictly (RFC 8259): what the conformance kit sees of a message, whatever the dialect's
/// own lenient reading makes of it.
public enum WireValue: Sendable, Equatable, Decodable {
    case null
    case flag(Bool)
    case number(Double)
    case text(String)
    case list([WireValue])
    case object([String: WireValue])

    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let text = try? value.decode(String.self) {
            self = .text(text)
        } else if let flag = try? value.decode(Bool.self) {
            self = .flag(flag)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let members = try? value.decode([String: WireValue].self) {
            self = .object(members)
        } else {
            self = .list(try value.decode([WireValue].self))
        }
    }

    /// nil: the bytes are not JSON.
    public init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let value = try? JSONDecoder().decode(WireValue.self, from: Data(bytes)) else { return nil }
        self = value
    }

    /// The member at a path of names with dots between them, e.g. `media.payload`.
    public subscript(path: String) -> WireValue? {
        var value = self
        for name in path.split(separator: ".") {
            guard case .object(let members) = value, let member = members[String(name)] else { return nil }
            value = member
        }
        return value
    }

    public var text: String? { if case .text(let text) = self { text } else { nil } }
    public var number: Double? { if case .number(let number) = self { number } else { nil } }
    public var isObject: Bool { if case .object = self { true } else { false } }
    /// A number, or the text of one: carriers differ.
    public var numeral: Double? { number ?? text.flatMap { Double($0) } }
    public var members: [String: WireValue] { if case .object(let members) = self { members } else { [:] } }
}
