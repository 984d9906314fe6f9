internal import Bridge
internal import Calls
internal import Logging
internal import Net
internal import Problems

/// Events of Telnyx's Call Control, and the commands that answer them.
///
/// An event is acknowledged at once; the command follows by itself. Events may be told twice: a command that is told
/// twice has the same id, and Telnyx does it once.
struct TelnyxEventRoutes: Sendable {
    private let webhooks: CarrierWebhooks

    init(_ services: Routes.Services) { webhooks = CarrierWebhooks(services) }

    func take(_ event: TelnyxEvent, by telnyx: TelnyxCarrier) async throws(APIError) -> HTTPResponse {
        switch event.kind {
        case .begun(isIncoming: true):
            guard let rest = telnyx.rest else {
                throw APIError.notFound(
                    .carrierNotSetUp, ["carrier": .text(TelnyxCarrier.title), "settings": .text("TELNYX_API_KEY")])
            }
            await arrived(event, telnyx, rest)
        case .answered: if let rest = telnyx.rest { await answered(event, telnyx, rest) }
        case .ended: await ended(event, telnyx)
        case .recognised:
            if case .placed(let id) = event.state {
                await webhooks.take(CarrierReport(telnyx: event), of: id, by: telnyx)
            }
        case .spoken: if event.state == .farewell, let rest = telnyx.rest { hangUp(event, rest) }
        case .streamFailed:
            webhooks.logger.warning("Telnyx reports a stream error", metadata: ["call": "\(event.callID.prefix(64))"])
        case .begun(isIncoming: false), .other: break
        }
        return HTTPResponse(status: 200)
    }

    /// A call comes in.
    private func arrived(_ event: TelnyxEvent, _ telnyx: TelnyxCarrier, _ rest: TelnyxREST) async {
        let callID = event.callID
        switch await webhooks.answer(
            CarrierReport(callID: callID), of: nil, by: telnyx, from: event.from, to: event.to)
        {
        case .taken(let id):
            let stream: (stream: TelnyxStream, token: String)? =
                telnyx.stream.comesWithAnswer ? (telnyx.stream, webhooks.token(for: callID, callID: id)) : nil
            command("answer", callID) {
                try await rest.answer(callID, stream: stream)
            } failed: { [webhooks] in
                // The caller has left meanwhile; or it is answered no more.
                await webhooks.take(CarrierReport(callID: callID, state: .failed), of: nil, by: telnyx)
            }
        case .over: break
        case .refused(let isBusy): command("reject", callID) { try await rest.reject(callID, isBusy: isBusy) }
        }
    }

    /// A call that we had placed, or one that came in and whose stream does not come with the answer.
    private func answered(_ event: TelnyxEvent, _ telnyx: TelnyxCarrier, _ rest: TelnyxREST) async {
        let placed: String?
        switch event.state {
        case .placed(let id): placed = id
        case .arrived where !telnyx.stream.comesWithAnswer: placed = nil
        case nil, .arrived, .transfer, .farewell: return
        }
        let callID = event.callID
        let report = CarrierReport(callID: callID, state: .answered)
        let verdict = await webhooks.answer(report, of: placed, by: telnyx, from: event.from, to: event.to)
        guard case .taken(let id) = verdict else { return hangUp(event, rest) }
        let token = webhooks.token(for: callID, callID: id)
        command("stream", callID) { try await rest.stream(callID, telnyx.stream, token: token) }
    }

    private func ended(_ event: TelnyxEvent, _ telnyx: TelnyxCarrier) async {
        let report = CarrierReport(telnyx: event)
        switch event.state {
        case .placed(let id): await webhooks.take(report, of: id, by: telnyx)
        case .transfer(let caller, let language):
            // After a conversation Telnyx ends the caller's call too, and a caller who has left needs no apology.
            guard report.state != .completed, report.state != .cancelled, let rest = telnyx.rest else { return }
            let apology = webhooks.apology(after: report.state.map { "\($0)" } ?? "", language: language)
            command("speak to", caller) {
                try await rest.speak(caller, apology.text, language: apology.locale, state: .farewell)
            } failed: {
                try? await rest.hangUp(caller)
            }
        case nil, .arrived: await webhooks.take(report, of: nil, by: telnyx)
        case .farewell: break
        }
    }

    private func hangUp(_ event: TelnyxEvent, _ rest: TelnyxREST) {
        command("hang up", event.callID) { try await rest.hangUp(event.callID) }
    }

    private func command(
        _ name: String, _ callID: String, _ command: @escaping @Sendable () async throws -> Void,
        failed: @escaping @Sendable () async -> Void = {}
    ) {
        Task { [logger = webhooks.logger] in
            do { try await command() } catch {
                let failure = error as? RESTFailure
                logger.warning(
                    "Telnyx did not \(name) the call",
                    metadata: [
                        "call": "\(callID.prefix(64))", "code": "\(failure?.code ?? 0)",
                        "status": "\(failure?.status ?? 0)",
                    ])
                await failed()
            }
        }
    }
}
