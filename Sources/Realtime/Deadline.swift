/// Waiting that ends.
public enum Deadline {
    /// What `body` gives, or nil when it takes longer than this.
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
