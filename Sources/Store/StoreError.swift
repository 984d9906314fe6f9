/// The store cannot do what was asked; says what the operator should look at.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable { case cannotOpen, unavailable, full, notFound, conflict }
    public var code: Code
    public var message: String
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
    public var description: String { message }

    /// A row that holds something else than it should.
    static var damaged: StoreError { StoreError(.unavailable, "a stored row is damaged") }
}
