import Foundation

/// A value behind a lock, for tests.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // Safe: touched under the lock alone.
    private var value: Value
    private let lock = NSLock()
    init(_ value: Value) { self.value = value }
    func get() -> Value { lock.withLock { value } }
    func set(_ new: Value) { lock.withLock { value = new } }
}
