internal import Net

/// A database. SQLite is the only one so far; another is one more folder beside `SQLite`.
protocol Engine: Sendable {
    var dialect: any Dialect { get }

    /// On return what `body` changes is on disk, all of it or nothing. It may be done together with other writes.
    func write<Value: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> Value) async throws -> Value
    /// All reads of `body` see the database as it was at one moment.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any Transaction) throws -> Value) async throws -> Value
    func translate(_ error: any Error) -> StoreError

    /// - Throws: the database is not whole.
    func check() async throws
    /// A copy as it is at one moment, while it is in use.
    func backUp(to path: String) throws
    /// Removes deleted rows from the files. False: another reader still has them open; call again later.
    func scrub() async throws -> Bool
    /// Writes all of the log into the database. False: another reader still has it open.
    func emptyLog() async throws -> Bool
    func close()
    /// Its writer.
    var watched: any WatchedThread { get }
}

/// What engines say in different words. The statements of `Subjects` are portable but for these pieces.
protocol Dialect: Sendable {
    /// Before a column in a condition: an index that begins with it would be worse than another one.
    var unindexed: SQL { get }
    /// Behind `calls` in a FROM: the index by direction and state is the right one.
    var hintByState: SQL { get }
    /// The id of the latest event, 0 before the first.
    var latestEvent: SQL { get }

    /// Letters of the longest beginning of a word that has an index of its own.
    var indexedBeginning: Int { get }
    /// How calls are found by words. `joined`: columns of `calls` are wanted too; `byState`: the state first of all.
    func words(joined: Bool, byState: Bool) -> WordSource
    /// The argument of `WordSource.condition`. `isCut`: the last word may be the beginning of one.
    /// - Parameter words: letters and digits only.
    func wordQuery(_ words: [String], isCut: Bool) -> String
    func index(call position: Int64, words: [String], _ transaction: any Transaction) throws

    func index(chunk id: Int64, words: [String], _ transaction: any Transaction) throws
    /// Pieces of a company's knowledge (`c`, of the item `k`) that hold one of the words, best first.
    /// - Parameter sets: that they are in; nil: in any.
    func chunks(
        _ columns: SQL, _ company: CompanyID, withAnyOf words: [String], in sets: [String]?, limit: Int,
        _ transaction: any Transaction
    ) throws -> [Row]

    func bytes(_ transaction: any Transaction) throws -> Int
}

/// The tables, the column of a call's position and the condition of a search by words.
struct WordSource {
    var tables: SQL
    var position: SQL
    var condition: SQL
}
