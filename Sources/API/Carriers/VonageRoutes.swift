internal import Bridge
internal import Calls
internal import Foundation
internal import Logging
internal import Net
internal import Problems

/// What Vonage asks us: what to do with a call, and tells us: what became of it. Trusted by its signed token alone.
struct VonageRoutes: CarrierRoutes {
    static let prefix = "/vonage/"

    private static let signatureHeader = "Authorization"
    /// Events of a `connect` that came to nothing: the answer may say what is to be done then.
    private static let notTaken: Set = ["timeout", "unanswered", "busy", "rejected", "failed", "cancelled"]

    private let webhooks: CarrierWebhooks

    init(services: Routes.Services) { webhooks = CarrierWebhooks(services) }

    var all: [CarrierRoute] {
        [
            CarrierRoute("GET", "/vonage/answer", answer),
            CarrierRoute("POST", "/vonage/answer", answer),
            CarrierRoute("GET", "/vonage/event", event),
            CarrierRoute("POST", "/vonage/event", event),
            CarrierRoute("POST", "/vonage/transferred", transferred),
        ]
    }

    /// `/vonage/answer`: what is to be done with a call that comes in, or with one of ours (`?call=`) that was
    /// answered. It is connected to our media stream, with a token for this call alone.
    func answer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (fields, vonage) = try checked(request)
        let id = try CarrierWebhooks.callID(fields, "uuid", of: vonage)
        let asked = request.queryValue("call"), callID: String
        let report = CarrierReport(vonageCall: id, status: asked == nil ? nil : "answered")
        let (from, to) = (fields["from"], fields["to"])
        switch await webhooks.answer(
            report, of: asked, by: vonage, from: from.map(CarrierNumber.international),
            to: to.map(CarrierNumber.international))
        {
        case .taken(let known): callID = known
        case .over, .refused: return Self.ncco(.hangUp)
        }
        return Self.ncco(
            VonageNCCO.stream(
                vonage.streamURL, sampleRate: vonage.sampleRate, number: asked == nil ? to : from, callID: id,
                token: webhooks.token(for: id, callID: callID)))
    }

    /// `/vonage/event`: a call's state has changed, or Vonage has found out who answered. The leg to our WebSocket has
    /// events of its own, with another id: they change nothing.
    func event(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (fields, vonage) = try checked(request)
        guard let status = fields["status"] else {
            // An error of an NCCO has a reason and no status.
            guard fields["reason"] != nil else { throw APIError.invalid("status", .required) }
            webhooks.logger.warning("Vonage reports an error")
            return CarrierWebhooks.noContent
        }
        // Machine detection has another name for it.
        let name = fields["uuid"] == nil && fields["call_uuid"] != nil ? "call_uuid" : "uuid"
        let id = try CarrierWebhooks.callID(fields, name, of: vonage)
        let report = CarrierReport(vonageCall: id, status: status)
        await webhooks.take(report, of: request.queryValue("call"), by: vonage)
        return CarrierWebhooks.noContent
    }

    /// `POST /vonage/transferred`: how the call to an operator goes. Where it comes to nothing the caller is told, for
    /// our stream has ended.
    func transferred(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (fields, _) = try checked(request)
        guard let status = fields["status"] else { throw APIError.invalid("status", .required) }
        guard Self.notTaken.contains(status) else { return CarrierWebhooks.noContent }
        let apology = webhooks.apology(after: status, language: request.queryValue("language"))
        return Self.ncco(.say(apology.text, language: apology.locale))
    }

    /// The fields, once the token over them has been found right.
    private func checked(_ request: HTTPRequest) throws -> ([String: String], VonageCarrier) {
        let vonage = try webhooks.carrier(
            VonageCarrier.self, settings: "VONAGE_SIGNATURE_SECRET and APP_PUBLIC_BASE_URL")
        let token = try CarrierWebhooks.proof(Self.signatureHeader, of: request)
        let isGet = request.method == "GET"
        let payload = isGet ? VonageSignature.payload(of: request.query) : request.body
        guard vonage.signature.isValid(token, payload: payload, at: webhooks.now) else {
            throw CarrierWebhooks.forbidden(.signatureWrong, header: Self.signatureHeader)
        }
        let fields =
            isGet ? CarrierWebhooks.byName(request.query) : try CarrierWebhooks.texts(ofJSON: request.body)
        return (fields, vonage)
    }

    private static func ncco(_ ncco: VonageNCCO) -> HTTPResponse {
        CarrierWebhooks.response(ncco.text, VonageNCCO.contentType)
    }
}
