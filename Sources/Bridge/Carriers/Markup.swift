/// An element of the XML that tells a carrier what to do with a call.
public struct MarkupElement: Sendable {
    private let text: String

    /// - Parameter attributes: those without a value are left out.
    public init(_ name: String, _ attributes: [(name: String, value: String?)] = [], _ children: [MarkupElement] = []) {
        self.init(name, attributes, inner: children.map(\.text).joined())
    }

    /// - Parameter text: characters, which are escaped.
    public init(_ name: String, _ attributes: [(name: String, value: String?)] = [], text: String) {
        self.init(name, attributes, inner: Self.escaped(text))
    }

    private init(_ name: String, _ attributes: [(name: String, value: String?)], inner: String) {
        var opening = name
        for (name, value) in attributes {
            if let value { opening += #" \#(name)="\#(Self.escaped(value))""# }
        }
        text = inner.isEmpty ? "<\(opening)/>" : "<\(opening)>\(inner)</\(name)>"
    }

    /// The document whose root has these children.
    public static func document(_ root: String, _ children: [MarkupElement]) -> String {
        #"<?xml version="1.0" encoding="UTF-8"?>"# + MarkupElement(root, [], children).text
    }

    /// XML 1.0 §2.2 has no place for control characters other than tab and line feed here: they are left out.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&apos;"
            default:
                if scalar.value >= 0x20 || scalar == "\t" || scalar == "\n" { result.unicodeScalars.append(scalar) }
            }
        }
        return result
    }
}
