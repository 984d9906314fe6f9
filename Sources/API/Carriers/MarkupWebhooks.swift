internal import Bridge
internal import Calls
internal import Logging
internal import Net
internal import Problems

/// Webhooks that come as forms and are answered by `CallMarkup`, once the carrier's proof has been found right.
struct MarkupWebhooks: Sendable {
    let webhooks: CarrierWebhooks

    init(_ services: Routes.Services) { webhooks = CarrierWebhooks(services) }

    static func response(_ markup: String) -> HTTPResponse {
        CarrierWebhooks.response(markup, CallMarkup.contentType)
    }

    // MARK: Reading

    /// The form's fields, once the signature over them and our address has been found right.
    ///
    /// - Parameter header: of the signature, as people write it.
    static func checked(
        _ request: HTTPRequest, _ signature: FormSignature, header: String, publicURL: String
    ) throws -> [String: String] {
        let given = try CarrierWebhooks.proof(header, of: request)
        let url = publicURL + request.path + CarrierWebhooks.query(of: request)
        let isForm = CarrierWebhooks.isForm(request)
        let form = isForm ? try CarrierWebhooks.form(request.body) : []
        let isValid =
            isForm || request.body.isEmpty
            ? signature.isValid(given, url: url, form: form)
            : signature.isValid(given, url: url, body: request.body)
        guard isValid else { throw CarrierWebhooks.forbidden(.signatureWrong, header: header) }
        return CarrierWebhooks.byName(form)
    }

    /// - Parameter carrier: whose form the id must have; nil: any form.
    /// - Throws: 422 for a form without it.
    static func callID(in form: [String: String], of carrier: (any Carrier)? = nil) throws(APIError) -> String {
        try CarrierWebhooks.callID(form, "CallSid", of: carrier)
    }

    // MARK: Answering

    enum Answer: Sendable {
        /// The call is to be connected; the id is that of our record.
        case connect(callID: String)
        case told(HTTPResponse)
    }

    /// A call comes in, or one of ours was answered.
    ///
    /// - Parameter asked: the id of our record, where we had the call placed; nil: it comes in.
    func answer(
        _ form: [String: String], call callID: String, of asked: String?, by carrier: any Carrier
    ) async -> Answer {
        let report = CarrierReport(callID: callID, status: asked == nil ? nil : "in-progress")
        switch await webhooks.answer(report, of: asked, by: carrier, from: form["From"], to: form["To"]) {
        case .taken(let id): return .connect(callID: id)
        case .over: return .told(Self.response(CallMarkup.hangUp))
        case .refused(let isBusy): return .told(Self.response(CallMarkup.reject(isBusy: isBusy)))
        }
    }

    /// A call is taken from our stream, to be transferred or ended.
    ///
    /// - Parameter transferred: URL of the webhook that is told of the transfer's end.
    static func dial(_ transfer: CarrierTransfer?, transferred: String) -> HTTPResponse {
        response(transfer.map { $0.markup(next: transferred) } ?? CallMarkup.hangUp)
    }

    /// The call to an operator is over, or came to nothing; then the caller is told, for our stream has ended.
    func transferred(_ request: HTTPRequest, _ form: [String: String]) throws(APIError) -> HTTPResponse {
        guard let status = form["DialCallStatus"] else { throw APIError.invalid("DialCallStatus", .required) }
        if ["completed", "answered"].contains(status) { return Self.response(CallMarkup.hangUp) }
        let apology = webhooks.apology(after: status, language: request.queryValue("language"))
        return Self.response(CallMarkup.say(apology.text, language: apology.locale))
    }

    /// A call's or a stream's state has changed, or the carrier has found out who answered.
    ///
    /// - Returns: what is told of the call; nil: it is of a stream.
    func status(
        _ form: [String: String], call callID: String, of asked: String?, by carrier: any Carrier
    ) async -> CarrierReport? {
        if let event = form["StreamEvent"] {
            if event == "stream-error" {
                webhooks.logger.warning(
                    "\(carrier.title) reports a stream error",
                    metadata: ["call": "\(callID.prefix(64))", "error": "\((form["StreamError"] ?? "").prefix(200))"])
            }
            return nil
        }
        let report = CarrierReport(
            callID: callID, status: form["CallStatus"],
            sipCode: (form["SipResponseCode"] ?? form["SipResultCode"]).flatMap { Int($0) },
            answeredBy: form["AnsweredBy"])
        await webhooks.take(report, of: asked, by: carrier)
        return report
    }
}
