internal import Foundation
internal import GRDB

/// Statements of one GRDB transaction. Each is compiled once.
final class SQLiteTransaction: Transaction {
    private let database: Database
    init(_ database: Database) { self.database = database }

    private func statement(_ sql: SQL, _ arguments: [any Storable]) throws -> Statement {
        let statement = try database.cachedStatement(sql: sql.text)
        try statement.setArguments(StatementArguments(arguments.map { $0.stored.bound }))
        return statement
    }

    func run(_ sql: SQL, arguments: [any Storable]) throws -> Int {
        try statement(sql, arguments).execute()
        return database.changesCount
    }

    func rows(_ sql: SQL, arguments: [any Storable]) throws -> [Row] {
        try GRDB.Row.fetchAll(try statement(sql, arguments)).map { Row(source: SQLiteRow(row: $0)) }
    }

    func each(_ sql: SQL, arguments: [any Storable], _ body: (Row) throws -> Void) throws {
        let rows = try GRDB.Row.fetchCursor(try statement(sql, arguments))
        while let row = try rows.next() { try body(Row(source: SQLiteRow(row: row))) }
    }
}

private struct SQLiteRow: RowSource {
    let row: GRDB.Row
    func value(_ column: String) -> Value { Value((row[column] as DatabaseValue?) ?? .null) }
    func value(at index: Int) -> Value { Value(row[index] as DatabaseValue) }
}

extension Value {
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .real(value)
        case .string(let value): self = .text(value)
        case .blob(let value): self = .blob(value)
        }
    }

    fileprivate var bound: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .real(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .blob(let value): value.databaseValue
        }
    }
}
