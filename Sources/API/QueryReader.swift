internal import Calls
internal import Foundation
internal import Store

/// Reads a query's parameters and collects what is wrong with them: names that the route does not know, names that
/// stand twice, values that are too long or hold control characters.
struct QueryReader {
    private var values: [String: String] = [:]
    private(set) var errors: [APIError.Field] = []

    /// - Parameter known: as the route's description says them.
    init(_ query: [(name: String, value: String)], known: [OpenAPI.Parameter], reserved: Set<String> = []) {
        var seen: Set<String> = []
        for (name, value) in query {
            let parameter = known.first { $0.name == name }
            guard parameter != nil || reserved.contains(name) else {
                fail(name, "is not a known parameter")
                continue
            }
            guard seen.insert(name).inserted else {
                fail(name, "stands twice")
                continue
            }
            let limit = parameter?.limit ?? OpenAPI.Parameter.usualLimit
            guard value.count <= limit else {
                fail(name, "is longer than \(limit) characters")
                continue
            }
            guard TextRule.line.problem(with: value) == nil else {
                fail(name, "holds a control character")
                continue
            }
            values[name] = value
        }
    }

    subscript(name: String) -> String? { values[name] }

    mutating func fail(_ name: String, _ message: String) {
        errors.append(.init(field: String(name.prefix(100)), message: message))
    }

    /// - Throws: all that was noted.
    func check() throws(APIError) { if !errors.isEmpty { throw APIError.invalid(errors) } }

    /// `limit`, or 50.
    mutating func limit(else usual: Int = 50) -> Int {
        guard let text = values["limit"] else { return usual }
        let range = CallFilter.limitRange
        if text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text), range.contains(number) {
            return number
        }
        fail("limit", "must be a number from \(range.lowerBound) to \(range.upperBound)")
        return usual
    }

    /// `cursor`, of this list.
    mutating func cursor(of list: ListCursor) -> Int64? {
        guard let text = values["cursor"] else { return nil }
        guard let position = list.position(text) else {
            fail("cursor", "is not one that a list gave")
            return nil
        }
        return position
    }

    /// An RFC 3339 time.
    mutating func time(_ name: String) -> Date? {
        guard let text = values[name] else { return nil }
        // A "+" of an offset arrives as a space when it was not escaped.
        guard let date = Timestamp.parse(text.replacing(" ", with: "+")) else {
            fail(name, "must be an RFC 3339 time")
            return nil
        }
        return date
    }

    /// One of some words.
    mutating func choice<Value: RawRepresentable & CaseIterable>(_ name: String, as type: Value.Type) -> Value?
    where Value.RawValue == String {
        guard let text = values[name] else { return nil }
        if let value = Value(rawValue: text) { return value }
        fail(name, "must be one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
        return nil
    }

    /// A word that is not blank.
    mutating func word(_ name: String) -> String? {
        guard let text = values[name] else { return nil }
        if text.allSatisfy(\.isWhitespace) { fail(name, "is blank") }
        return text
    }
}
