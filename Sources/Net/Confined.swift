/// Carries a loop-confined object through a `@Sendable` or isolated closure back to its own loop.
///
/// `@unchecked Sendable` is safe because `value` refuses every thread but the loop's.
public struct Confined<Value>: @unchecked Sendable {
    private let stored: Value
    private let loop: EventLoop

    public init(_ value: Value, to loop: EventLoop) {
        stored = value
        self.loop = loop
    }

    /// On the loop only.
    public var value: Value {
        loop.preconditionOnLoop()
        return stored
    }
}
