/// Waiting with a time limit.
public enum Deadline {
    /// The result of `body`, or nil if it takes longer than this.
    public static func wait<Result: Sendable>(milliseconds: Int, _ body: @escaping @Sendable () async throws -> Result)
        async throws -> Result?
    {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
