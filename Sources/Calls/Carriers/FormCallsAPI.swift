internal import Bridge

/// Calls by the API that several carriers share, reported to the carrier's path `/status` and asked about at `/voice`.
struct FormCallsAPI: CarrierAPI {
    let rest: CallsREST
    /// What is before the paths of the webhooks: our address and the carrier's name.
    let webhooks: String
    let detectsMachines: Bool
    /// The API knows `TimeLimit`.
    let limitsTime: Bool
    /// What is to be set of a call in progress, so that it is transferred.
    let transferring: @Sendable (_ callID: String, CarrierTransfer) -> [(String, String)]

    /// Webhook of one call; the carrier's signature covers the query.
    private func webhook(_ path: String, of callID: String) -> String { "\(webhooks)/\(path)?call=\(callID)" }

    func place(_ placement: CarrierPlacement) async throws(CarrierFailure) -> String {
        let status = webhook("status", of: placement.callID)
        let call = CallsREST.Placement(
            to: placement.to, from: placement.from, url: webhook("voice", of: placement.callID), statusCallback: status,
            machineCallback: detectsMachines ? status : nil, ringSeconds: placement.ringSeconds,
            timeLimit: limitsTime ? placement.timeLimit : nil)
        return try await CarrierFailure.translated { try await rest.place(call) }.sid
    }

    func report(of callID: String) async throws(CarrierFailure) -> CarrierReport {
        let call = try await CarrierFailure.translated { try await rest.call(callID) }
        return CarrierReport(callID: callID, status: call.status)
    }

    func cancel(_ callID: String) async throws(CarrierFailure) {
        _ = try await CarrierFailure.translated { try await rest.cancel(callID) }
    }

    func hangUp(_ callID: String) async throws(CarrierFailure) {
        _ = try await CarrierFailure.translated { try await rest.complete(callID) }
    }

    func transfer(_ callID: String, _ transfer: CarrierTransfer) async throws(CarrierFailure) {
        let fields = transferring(callID, transfer)
        _ = try await CarrierFailure.translated { try await rest.set(callID, fields) }
    }
}
