internal import Calls
internal import Foundation
internal import Logging
internal import Net
internal import Problems
internal import Realtime

/// What the webhooks of every carrier do, once the carrier's proof has been found right.
struct CarrierWebhooks: Sendable {
    private let services: Routes.Services

    init(_ services: Routes.Services) { self.services = services }

    var logger: Logger { services.logger }
    var now: Date { services.now() }

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

    /// The operator did not take the call: what the caller is told, for our stream has ended.
    ///
    /// - Parameter state: how the call to the operator ended, in the carrier's word.
    func apology(after state: String, language: String?) -> (text: String, locale: String) {
        logger.warning("no operator took a transferred call", metadata: ["state": "\(state.prefix(32))"])
        return SpokenText.nobodyAvailable(language: language ?? "en")
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

    /// A header that proves where a request comes from.
    ///
    /// - Parameter name: as people write it.
    /// - Throws: 403 without it.
    static func proof(_ name: String, of request: HTTPRequest) throws(APIError) -> String {
        guard let given = request.headers[name.lowercased()] else { throw forbidden(.signatureMissing, header: name) }
        return given
    }

    static func isForm(_ request: HTTPRequest) -> Bool {
        (request.headers["content-type"] ?? "").lowercased().hasPrefix(HTTPForm.contentType)
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

    static func response(_ text: String, _ contentType: String) -> HTTPResponse {
        HTTPResponse(status: 200, contentType: contentType, Array(text.utf8))
    }
}
