/// A text with places to be filled in: `{{path}}` and `{{path|words where there is no value}}`, and nothing else. It
/// has no logic, so that everything it may ask for is known when it is saved.
///
/// A path is names with dots between them, `variables.name`. What a single name means is its reader's to say.
public struct Template: Sendable, Equatable {
    /// Characters of a path, and of its words where there is no value.
    public static let pathLimit = 200, fallbackLimit = 500

    public struct Place: Sendable, Equatable {
        /// At least one, none empty: letters, digits, `_` and `-`.
        public var path: [String]
        /// Stands in where there is no value.
        public var fallback: String?
    }

    /// What is wrong with a text as a template.
    public enum Failure: Error, Sendable, Equatable {
        /// `{{` without `}}`.
        case unclosed
        /// What stands between the braces is no path.
        case badPath(String)
    }

    public enum Piece: Sendable, Equatable {
        case text(String)
        case place(Place)
    }

    public let pieces: [Piece]

    public init(_ text: String) throws(Failure) {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstRange(of: "{{") {
            if open.lowerBound > rest.startIndex { pieces.append(.text(String(rest[..<open.lowerBound]))) }
            rest = rest[open.upperBound...]
            guard let close = rest.firstRange(of: "}}") else { throw .unclosed }
            pieces.append(.place(try Self.place(rest[..<close.lowerBound])))
            rest = rest[close.upperBound...]
        }
        if !rest.isEmpty { pieces.append(.text(String(rest))) }
        self.pieces = pieces
    }

    private static func place(_ text: Substring) throws(Failure) -> Place {
        let parts = text.split(separator: "|", maxSplits: 1, omittingEmptySubsequences: false)
        let written = String(parts[0].drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        let path = written.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isName = { (name: String) in
            !name.isEmpty
                && name.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                        true
                    default: false
                    }
                }
        }
        guard written.count <= pathLimit, path.allSatisfy(isName),
            parts.count == 1 || parts[1].count <= fallbackLimit
        else { throw .badPath(String(written.prefix(pathLimit))) }
        return Place(path: path, fallback: parts.count > 1 ? String(parts[1]) : nil)
    }

    public var places: [Place] { pieces.compactMap { if case .place(let place) = $0 { place } else { nil } } }

    /// The text with its values. Values are filled in as they are: a `{{` in one has no meaning.
    /// - Parameter value: of a path; nil: there is none, and the fallback stands in, or nothing.
    public func filled(_ value: (_ path: [String]) -> String?) -> String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .text(let plain): text += plain
            case .place(let place): text += value(place.path) ?? place.fallback ?? ""
            }
        }
    }
}
