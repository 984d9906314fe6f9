internal import Bridge

extension CarrierFailure {
    /// Sends a request of a client in `Bridge`; its failure becomes one of ours.
    static func translated<Answer>(_ request: () async throws -> Answer) async throws(CarrierFailure) -> Answer {
        do { return try await request() } catch {
            guard let failure = error as? RESTFailure else { throw CarrierFailure("\(error)") }
            throw CarrierFailure(
                failure.message, code: failure.code, status: failure.status, isUncertain: failure.isUncertain)
        }
    }
}
