/// Work that must end in time.
enum TimeLimit {
    struct Passed: Error {}

    /// What `body` gives; it is cancelled when the time is over.
    /// - Throws: `Passed`, or what `body` throws.
    static func within<Value: Sendable>(
        milliseconds: Int, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let value = first else { throw Passed() }
            return value
        }
    }
}
