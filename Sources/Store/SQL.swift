internal import Foundation

/// A statement or a piece of one. Only literals and other pieces go into it, never data: that goes by `?`.
struct SQL: ExpressibleByStringInterpolation, Sendable {
    let text: String

    init(stringLiteral value: StaticString) { text = value.description }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
    private init(text: String) { self.text = text }

    struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        init(literalCapacity: Int, interpolationCount: Int) { text.reserveCapacity(literalCapacity) }
        mutating func appendLiteral(_ literal: StaticString) { text += literal.description }
        mutating func appendInterpolation(_ piece: SQL) { text += piece.text }
    }

    /// `(?, ?, ?)`
    static func marks(_ count: Int) -> SQL {
        SQL(text: "(" + Array(repeating: "?", count: count).joined(separator: ", ") + ")")
    }
    static func + (left: SQL, right: SQL) -> SQL { SQL(text: left.text + right.text) }
}

extension [SQL] {
    func joined(separator: SQL) -> SQL {
        guard let first else { return "" }
        return dropFirst().reduce(first) { $0 + separator + $1 }
    }
}

/// What stands in a column.
enum Value: Sendable, Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)
}

/// What can be stored in a column.
protocol Storable: Sendable {
    var stored: Value { get }
    /// - Throws: `StoreError`: the column holds something else.
    init(stored: Value) throws
}

extension Int64: Storable {
    var stored: Value { .integer(self) }
    init(stored: Value) throws {
        guard case .integer(let value) = stored else { throw StoreError.damaged }
        self = value
    }
}
extension Int: Storable {
    var stored: Value { .integer(Int64(self)) }
    init(stored: Value) throws {
        guard let value = Int(exactly: try Int64(stored: stored)) else { throw StoreError.damaged }
        self = value
    }
}
extension Double: Storable {
    var stored: Value { .real(self) }
    init(stored: Value) throws {
        switch stored {
        case .real(let value): self = value
        case .integer(let value): self = Double(value)
        case .null, .text, .blob: throw StoreError.damaged
        }
    }
}
extension String: Storable {
    var stored: Value { .text(self) }
    init(stored: Value) throws {
        guard case .text(let value) = stored else { throw StoreError.damaged }
        self = value
    }
}
extension Data: Storable {
    var stored: Value { .blob(self) }
    init(stored: Value) throws {
        switch stored {
        case .blob(let value): self = value
        case .text(let value): self = Data(value.utf8)
        case .null, .integer, .real: throw StoreError.damaged
        }
    }
}
/// Seconds since 1970.
extension Date: Storable {
    var stored: Value { .real(timeIntervalSince1970) }
    init(stored: Value) throws { self.init(timeIntervalSince1970: try Double(stored: stored)) }
}
extension Optional: Storable where Wrapped: Storable {
    var stored: Value { self?.stored ?? .null }
    init(stored: Value) throws { self = stored == .null ? nil : try Wrapped(stored: stored) }
}
extension CallDirection: Storable {
    var stored: Value { .text(rawValue) }
    init(stored: Value) throws {
        guard let value = Self(rawValue: try String(stored: stored)) else { throw StoreError.damaged }
        self = value
    }
}
extension CallState: Storable {
    var stored: Value { .text(rawValue) }
    init(stored: Value) throws {
        guard let value = Self(rawValue: try String(stored: stored)) else { throw StoreError.damaged }
        self = value
    }
}
