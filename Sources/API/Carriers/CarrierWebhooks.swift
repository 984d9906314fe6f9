internal import Calls
internal import Logging
internal import Net
internal import Problems

/// What the webhooks of every carrier do, once the carrier's proof has been found right.
struct CarrierWebhooks: Sendable {
    private let services: Routes.Services

    init(_ services: Routes.Services) { self.services = services }

    /// What is to be done with a call that asks.
    enum Verdict: Sendable, Equatable {
        /// It is connected; the id is that of our record.
        case taken(callID: String)
        /// It is over, or was given up: hang up.
        case over
        /// It came in and is not answered.
        case refused(isBusy: Bool)
    }

    /// A call was answered or comes in, and the carrier asks what to do with it.
    ///
    /// - Parameters:
    ///   - callID: of our record, where we had the call placed; nil: it comes in.
    ///   - from: the caller's number, as the carrier tells it.
    func answer(
        _ report: CarrierReport, of callID: String?, by carrier: any Carrier, from: String?, to: String?
    ) async -> Verdict {
        if let callID { return await services.dialler.take(report, of: callID) ? .taken(callID: callID) : .over }
        switch services.arrivals.arrive(report.callID, by: carrier, from: from, to: to) {
        case .taken(let id): return .taken(callID: id)
        case .over: return .over
        case .refused(let refusal):
            services.logger.warning(
                "a call that came in is refused",
                metadata: ["call": "\(report.callID.prefix(64))", "reason": "\(refusal)"])
            return .refused(isBusy: refusal == .busy)
        }
    }

    /// A token that lets the call's media stream in, once.
    func token(for providerCallID: String, callID: String) -> String {
        services.tickets.issue(StreamTickets.Ticket(providerCallID: providerCallID, callID: callID))
    }

    /// What a carrier tells of a call's state.
    ///
    /// - Parameter callID: of our record, where we had the call placed; nil: it came in.
    func take(_ report: CarrierReport, of callID: String?, by carrier: any Carrier) async {
        var metadata: Logger.Metadata = ["call": "\(report.callID.prefix(64))"]
        if let state = report.state { metadata["state"] = "\(state)" }
        services.logger.info("\(carrier.title) reports a call's state", metadata: metadata)
        if let callID {
            _ = await services.dialler.take(report, of: callID)
        } else {
            await services.arrivals.take(report)
        }
    }

    /// - Parameter settings: what makes it ready, for the message.
    /// - Throws: 404 where it is not set up.
    func carrier<Kind: Carrier>(_ kind: Kind.Type, settings: String) throws(APIError) -> Kind {
        guard let carrier = services.carriers.the(kind) else {
            throw APIError.notFound(
                .carrierNotSetUp, ["carrier": .text(kind.title), "settings": .text(settings)])
        }
        return carrier
    }

    /// 403 for a request that does not prove that it comes from the carrier.
    static func forbidden(_ code: ProblemCode, header: String) -> APIError {
        APIError(403, "bad_signature", code, ["header": .text(header)])
    }

    /// The query as it was written, as far as decoding left it: what signatures cover. With its `?`; empty: none.
    static func query(of request: HTTPRequest) -> String {
        request.query.isEmpty ? "" : "?" + HTTPForm.encode(request.query)
    }

    /// - Throws: 422 for a body that is no form.
    static func form(_ body: [UInt8]) throws(APIError) -> [(name: String, value: String)] {
        do { return try HTTPForm.decode(body) } catch {
            throw APIError.invalid("body", .notForm, ["problem": .text(error.message)])
        }
    }
}
