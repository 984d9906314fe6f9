public import Problems

/// The store cannot do what was asked; says what the operator should look at.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable { case cannotOpen, unavailable, full, notFound, conflict }
    public var code: Code
    public var problem: Problem
    public init(_ code: Code, _ problem: ProblemCode, _ params: [String: Problem.Value] = [:]) {
        self.code = code
        self.problem = Problem(problem, params)
    }
    public var message: String { problem.message }
    public var description: String { message }

    /// A row that holds something else than it should.
    static var damaged: StoreError { StoreError(.unavailable, .rowDamaged) }
}
