internal import Bridge
internal import Calls
internal import Foundation
internal import Logging
internal import Net
internal import Problems

/// What Plivo asks us: what to do with a call, and tells us: what became of it. Trusted by its signature alone.
struct PlivoRoutes: CarrierRoutes {
    static let prefix = "/plivo/"

    private static let signatureHeader = "X-Plivo-Signature-V3"
    /// Values of `DialStatus` that mean: the target answered.
    private static let taken: Set = ["completed", "answered"]

    private let webhooks: CarrierWebhooks

    init(services: Routes.Services) { webhooks = CarrierWebhooks(services) }

    var all: [CarrierRoute] {
        [
            CarrierRoute("POST", "/plivo/answer", answer),
            CarrierRoute("POST", "/plivo/status", status),
            CarrierRoute("POST", "/plivo/transfer", transfer),
            CarrierRoute("POST", "/plivo/transferred", transferred),
        ]
    }

    /// `POST /plivo/answer`: what is to be done with a call that comes in, or with one of ours (`?call=`) that was
    /// answered. It is connected to our media stream, with a token for this call alone.
    func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, plivo) = try checked(request)
        let id = try CarrierWebhooks.callID(form, "CallUUID", of: plivo)
        let asked = request.queryValue("call"), callID: String
        let report = CarrierReport(
            plivoCall: id, requestID: form["RequestUUID"], status: asked == nil ? nil : "in-progress")
        let (from, to) = (form["From"].map(CarrierNumber.international), form["To"].map(CarrierNumber.international))
        switch await webhooks.answer(report, of: asked, by: plivo, from: from, to: to) {
        case .taken(let known): callID = known
        case .over: return Self.xml(PlivoXML.hangUp)
        case .refused(let isBusy): return Self.xml(PlivoXML.reject(isBusy: isBusy))
        }
        let query = asked.map { "?" + HTTPForm.encode([("call", $0)]) } ?? ""
        return Self.xml(
            PlivoXML.stream(
                plivo.streamURL, plivo.streamFormat, token: webhooks.token(for: id, callID: callID),
                statusURL: plivo.publicURL + "/plivo/status" + query))
    }

    /// `POST /plivo/status`: a call's or a stream's state has changed, or Plivo has found out who answered.
    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, plivo) = try checked(request)
        let id = try CarrierWebhooks.callID(form, "CallUUID", of: plivo)
        // The reference and the guide spell it differently.
        if ["DroppedStream", "failed"].contains(form["Event"]) {
            webhooks.logger.warning("Plivo reports a lost stream", metadata: ["call": "\(id)"])
        }
        // Events of a stream have no state of the call.
        guard form["CallStatus"] != nil || form["Machine"] != nil else { return CarrierWebhooks.noContent }
        let report = CarrierReport(
            plivoCall: id, requestID: form["RequestUUID"], status: form["CallStatus"],
            hangupCode: form["HangupCauseCode"].flatMap { Int($0) }, isMachine: form["Machine"].map { $0 == "true" })
        await webhooks.take(report, of: request.queryValue("call"), by: plivo)
        return CarrierWebhooks.noContent
    }

    /// `POST /plivo/transfer`: Plivo has taken a call from our stream, as we asked, and wants to know where to.
    func transfer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (_, plivo) = try checked(request)
        guard let target = request.queryValue("to"), !target.isEmpty else { throw APIError.invalid("to", .required) }
        guard let ring = request.queryValue("ring").flatMap({ Int($0) }) else {
            throw APIError.invalid("ring", .notWhole)
        }
        let language = HTTPForm.encode([("language", request.queryValue("language") ?? "en")])
        return Self.xml(
            PlivoXML.dial(
                target, callerID: request.queryValue("from"), ringSeconds: ring,
                next: plivo.publicURL + "/plivo/transferred?" + language))
    }

    /// `POST /plivo/transferred`: the call to an operator is over, or came to nothing; then the caller is told, for our
    /// stream has ended.
    func transferred(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, _) = try checked(request)
        guard let status = form["DialStatus"] else { throw APIError.invalid("DialStatus", .required) }
        if Self.taken.contains(status) { return Self.xml(PlivoXML.hangUp) }
        let apology = webhooks.apology(after: status, language: request.queryValue("language"))
        return Self.xml(PlivoXML.say(apology.text, language: apology.locale))
    }

    /// The form's fields, once the signature over them has been found right.
    private func checked(_ request: HTTPRequest) throws -> ([String: String], PlivoCarrier) {
        let plivo = try webhooks.carrier(PlivoCarrier.self, settings: "PLIVO_AUTH_TOKEN and APP_PUBLIC_BASE_URL")
        guard request.headers[PlivoSignature.header] ?? request.headers[PlivoSignature.mainHeader] != nil else {
            throw CarrierWebhooks.forbidden(.signatureMissing, header: Self.signatureHeader)
        }
        let isForm = CarrierWebhooks.isForm(request)
        let fields = isForm ? try CarrierWebhooks.form(request.body) : []
        // Anything else than a form is nothing that a signature covers.
        guard isForm || request.body.isEmpty,
            plivo.signature.isValid(
                "POST", url: plivo.publicURL + request.path, query: request.query, form: fields,
                headers: request.headers)
        else { throw CarrierWebhooks.forbidden(.signatureWrong, header: Self.signatureHeader) }
        return (CarrierWebhooks.byName(fields), plivo)
    }

    private static func xml(_ text: String) -> HTTPResponse {
        CarrierWebhooks.response(text, PlivoXML.contentType)
    }
}
