public import JSON
public import Problems

/// Something wrong in a document that an administrator sends: the place, and what is wrong there.
public struct ToolIssue: Error, Sendable, Equatable {
    public var pointer: JSONPointer
    public var problem: Problem

    public init(_ pointer: JSONPointer, _ code: ProblemCode, _ params: [String: Problem.Value] = [:]) {
        self.init(pointer, Problem(code, params))
    }
    public init(_ pointer: JSONPointer, _ problem: Problem) {
        self.pointer = pointer
        self.problem = problem
    }
}

/// All that is wrong with a document; at least one entry.
public struct ToolIssues: Error, Sendable, Equatable {
    public var issues: [ToolIssue]
    public init(_ issues: [ToolIssue]) { self.issues = issues }
}
