/// An error of a carrier's API, or of the network on the way there.
public struct RESTFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public var message: String
    /// The carrier's error code; nil where it told none.
    public var code: Int?
    /// Of HTTP.
    public var status: Int?
    /// The request may have been carried out all the same: its answer was lost or is unreadable.
    public var isUncertain = false

    public init(_ message: String, code: Int? = nil, status: Int? = nil, isUncertain: Bool = false) {
        self.message = message
        self.code = code
        self.status = status
        self.isUncertain = isUncertain
    }

    public var description: String { message }
}
