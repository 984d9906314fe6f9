/// Something on the network did not work; `message` says what, in words for the operator.
public struct NetError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Code: Sendable, Equatable {
        case addressInUse, cannotBind, cannotResolve, cannotConnect, refused, timedOut, protocolViolation, tooBig,
            closed
        case unavailable
    }
    public var code: Code
    public var message: String
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
    public var description: String { message }
}
