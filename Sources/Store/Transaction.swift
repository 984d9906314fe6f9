/// A row as an engine gives it.
protocol RowSource {
    func value(_ column: String) -> Value
    func value(at index: Int) -> Value
}

struct Row {
    let source: any RowSource

    /// - Throws: `StoreError`: the column holds something of another type.
    subscript<Result: Storable>(_ column: String) -> Result {
        get throws { try Result(stored: source.value(column)) }
    }
    subscript<Result: Storable>(_ index: Int) -> Result {
        get throws { try Result(stored: source.value(at: index)) }
    }
}

/// Statements that are done together, or not at all. Good only inside the closure that was given it.
protocol Transaction: AnyObject {
    /// - Returns: how many rows were changed.
    func run(_ sql: SQL, arguments: [any Storable]) throws -> Int
    /// Also for statements that change rows and say `RETURNING`.
    func rows(_ sql: SQL, arguments: [any Storable]) throws -> [Row]
    /// One row after the other; a row is good only inside the call that is given it.
    func each(_ sql: SQL, arguments: [any Storable], _ body: (Row) throws -> Void) throws
}

extension Transaction {
    @discardableResult func run(_ sql: SQL, _ arguments: any Storable...) throws -> Int {
        try run(sql, arguments: arguments)
    }
    func rows(_ sql: SQL, _ arguments: any Storable...) throws -> [Row] { try rows(sql, arguments: arguments) }
    func each(_ sql: SQL, _ arguments: any Storable..., body: (Row) throws -> Void) throws {
        try each(sql, arguments: arguments, body)
    }
    func row(_ sql: SQL, _ arguments: any Storable...) throws -> Row? { try rows(sql, arguments: arguments).first }
    /// The first column of the first row; nil: there is no row, or NULL in it.
    func value<Result: Storable>(_ sql: SQL, _ arguments: any Storable...) throws -> Result? {
        guard let row = try rows(sql, arguments: arguments).first else { return nil }
        return try row[0] as Result?
    }
    func exists(_ sql: SQL, _ arguments: any Storable...) throws -> Bool {
        try !rows(sql, arguments: arguments).isEmpty
    }
    /// How many rows a `SELECT COUNT(*)` tells.
    func count(_ sql: SQL, _ arguments: any Storable...) throws -> Int {
        try rows(sql, arguments: arguments).first?[0] ?? 0
    }
}
