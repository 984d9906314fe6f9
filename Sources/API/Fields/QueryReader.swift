internal import Calls
internal import Foundation
internal import Problems
internal import Store

/// Reads a query's parameters by their descriptions and collects what is wrong with them, names that the route does not
/// know and names that stand twice among it.
struct QueryReader {
    private var reader = FieldReader()
    private var sent: Set<String> = []

    /// - Parameter reserved: names that are known and refused for now.
    init(_ query: [(name: String, value: String)], _ fields: [Field], reserved: Set<String> = []) {
        for (name, value) in query {
            let field = fields.first { $0.name == name }
            guard field != nil || reserved.contains(name) else {
                reader.fail(name, .unknownParameter)
                continue
            }
            guard sent.insert(name).inserted else {
                reader.fail(name, .givenTwice)
                continue
            }
            if let field { reader.take(field, value) } else { reader.fail(name, .notSupportedYet) }
        }
        for field in fields where !sent.contains(field.name) { reader.takeDefault(field) }
    }

    var errors: [APIError.Field] { reader.errors }

    func text(_ name: String) -> String? { reader.text(name) }
    func integer(_ name: String) -> Int? { reader.integer(name) }
    func time(_ name: String) -> Date? { reader.time(name) }
    func choice<Word: RawRepresentable>(_ name: String, as type: Word.Type) -> Word? where Word.RawValue == String {
        reader.choice(name, as: type)
    }

    mutating func fail(_ name: String, _ code: ProblemCode) { reader.fail(name, code) }

    /// - Throws: all that was noted.
    func check() throws(APIError) { try reader.check() }

    /// `cursor`, of this list.
    mutating func cursor(of list: ListCursor) -> Int64? {
        guard let text = reader.text("cursor") else { return nil }
        let position = list.position(text)
        if position == nil { reader.fail("cursor", .notCursor) }
        return position
    }
}
