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

    public init(_ message: String, code: Int? = nil, status: Int? = nil, isUncertain: Bool = false) {
        self.message = message
        self.code = code
        self.status = status
        self.isUncertain = isUncertain
    }

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
    ) async throws(RESTFailure) -> HTTPClientReply {
        var request = request
        request.responseTimeoutMs = Self.carrierTimeoutMs
        do { return try await fetch(request, limit: limit) } catch {
            let problem = error as? NetError
            let isSent = problem.map { ![.cannotResolve, .cannotConnect, .refused, .unavailable].contains($0.code) }
            throw RESTFailure(
                "\(carrier) cannot be reached: \(problem?.message ?? "\(error)")", isUncertain: isSent ?? true)
        }
    }
}
