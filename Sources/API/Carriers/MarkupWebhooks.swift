internal import Bridge
internal import Calls
internal import Logging
internal import Net
internal import Problems
internal import Realtime

/// Webhooks that come as forms and are answered by `CallMarkup`, once the carrier's proof has been found right.
struct MarkupWebhooks: Sendable {
    let webhooks: CarrierWebhooks
    private let logger: Logger

    init(_ services: Routes.Services) {
        webhooks = CarrierWebhooks(services)
        logger = services.logger
    }

    static func response(_ markup: String) -> HTTPResponse {
        HTTPResponse(status: 200, contentType: CallMarkup.contentType, Array(markup.utf8))
    }

    // MARK: Reading

    static func isForm(_ request: HTTPRequest) -> Bool {
        (request.headers["content-type"] ?? "").lowercased().hasPrefix(HTTPForm.contentType)
    }

    /// The form's fields, the first of each name.
    static func fields(_ form: [(name: String, value: String)]) -> [String: String] {
        Dictionary(form.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// The form's fields, once the signature over them and our address has been found right.
    ///
    /// - Parameter header: of the signature, as people write it.
    static func checked(
        _ request: HTTPRequest, _ signature: FormSignature, header: String, publicURL: String
    ) throws -> [String: String] {
        guard let given = request.headers[header.lowercased()] else {
            throw CarrierWebhooks.forbidden(.signatureMissing, header: header)
        }
        let url = publicURL + request.path + CarrierWebhooks.query(of: request)
        let isForm = isForm(request)
        let form = isForm ? try CarrierWebhooks.form(request.body) : []
        let isValid =
            isForm || request.body.isEmpty
            ? signature.isValid(given, url: url, form: form)
            : signature.isValid(given, url: url, body: request.body)
        guard isValid else { throw CarrierWebhooks.forbidden(.signatureWrong, header: header) }
        return fields(form)
    }

    /// - Parameter isOwn: whether it is of the form of the carrier's ids.
    /// - Throws: 422 for a form without it.
    static func callID(
        in form: [String: String], isOwn: (String) -> Bool = { _ in true }
    ) throws(APIError) -> String {
        guard let callID = form["CallSid"], !callID.isEmpty else { throw APIError.invalid("CallSid", .required) }
        guard isOwn(callID) else { throw APIError.invalid("CallSid", .notCarrierCallId) }
        return callID
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
        logger.warning("nobody took a transferred call", metadata: ["state": "\(status.prefix(32))"])
        let apology = SpokenText.nobodyAvailable(language: request.queryValue("language") ?? "en")
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
                logger.warning(
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
