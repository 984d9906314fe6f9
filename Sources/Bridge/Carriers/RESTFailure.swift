internal import Net

/// What a carrier's API says is wrong, or the network.
public struct RESTFailure: Error, Sendable, Equatable, CustomStringConvertible {
    public var message: String
    /// The carrier's error code; nil where it told none.
    public var code: Int?
    /// Of HTTP.
    public var status: Int?
    /// What was asked may have been done all the same: the answer was lost.
    public var isUncertain = false
    public var description: String { message }
}

extension HTTPClient {
    /// Milliseconds to the answer of a carrier's API.
    private static let carrierTimeoutMs = 10_000

    /// - Parameters:
    ///   - carrier: for the failure's message.
    ///   - limit: bytes of the answer.
    func reply(
        to request: HTTPClientRequest, from carrier: String, limit: Int = 1 << 20
    ) async throws -> HTTPClientReply {
        var request = request
        request.responseTimeoutMs = Self.carrierTimeoutMs
        do { return try await fetch(request, limit: limit) } catch let error as NetError {
            let isSent = ![.cannotResolve, .cannotConnect, .refused, .unavailable].contains(error.code)
            throw RESTFailure(message: "\(carrier) cannot be reached: \(error.message)", isUncertain: isSent)
        }
    }
}
