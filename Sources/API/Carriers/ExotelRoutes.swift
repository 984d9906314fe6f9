internal import Bridge
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems

/// What Exotel asks us: where a call's stream goes, and tells us: what became of it. Exotel signs nothing: its requests
/// are trusted by the secret in their URLs alone (`exotel.webhook_token`), as `token` or as the password of Basic
/// authentication.
struct ExotelRoutes: CarrierRoutes {
    static let prefix = "/exotel/"

    /// What a flow tells of a call that we had placed begins with this, in `Direction`.
    private static let outbound = "outbound"

    private let webhooks: CarrierWebhooks

    init(services: Routes.Services) { webhooks = CarrierWebhooks(services) }

    var all: [CarrierRoute] {
        [
            CarrierRoute("GET", "/exotel/stream", stream),
            CarrierRoute("GET", "/exotel/status", status),
            CarrierRoute("POST", "/exotel/status", status),
        ]
    }

    /// `GET /exotel/stream`: a Voicebot applet asks where the stream of a call goes, which comes in, or which is one of
    /// ours that was answered (`CustomField`). The URL has a token for this call alone.
    func stream(_ request: HTTPRequest) async throws -> HTTPResponse {
        let exotel = try checked(request)
        let fields = CarrierWebhooks.byName(request.query)
        let id = try CarrierWebhooks.callID(fields, "CallSid", of: exotel)
        let asked = fields["CustomField"].flatMap { $0.isEmpty ? nil : $0 }
        // Without it a call of ours would be taken for one that comes in.
        if asked == nil, fields["Direction"]?.lowercased().hasPrefix(Self.outbound) == true {
            throw APIError.invalid("CustomField", .required)
        }
        let report = CarrierReport(exotelCall: id, status: asked == nil ? nil : "in-progress")
        let verdict = await webhooks.answer(
            report, of: asked, by: exotel,
            from: (fields["CallFrom"] ?? fields["From"]).map(CarrierNumber.international),
            to: (fields["CallTo"] ?? fields["To"]).map(CarrierNumber.international))
        guard case .taken(let callID) = verdict else { throw APIError.notFound(.noCall) }
        let url = exotel.streamURL(token: webhooks.token(for: id, callID: callID))
        return Routes.json(["url": .string(url)])
    }

    /// `/exotel/status`: the state of a call that we had placed has changed (POST), or a Passthru applet tells of a
    /// call (GET).
    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let exotel = try checked(request)
        let fields = try fields(of: request)
        let id = try CarrierWebhooks.callID(fields, "CallSid", of: exotel)
        let report = CarrierReport(
            exotelCall: id, status: fields["Status"] ?? fields["CallStatus"], event: fields["EventType"])
        await webhooks.take(report, of: request.queryValue("call"), by: exotel)
        // An applet goes on where it hears 200, and nowhere else.
        return HTTPResponse(status: 200)
    }

    private func fields(of request: HTTPRequest) throws -> [String: String] {
        guard request.method == "POST" else { return CarrierWebhooks.byName(request.query) }
        let kind = (request.headers["content-type"] ?? "").lowercased()
        return kind.hasPrefix("application/json")
            ? try CarrierWebhooks.texts(ofJSON: request.body)
            : CarrierWebhooks.byName(try CarrierWebhooks.form(request.body))
    }

    /// - Throws: 403 without our secret.
    private func checked(_ request: HTTPRequest) throws -> ExotelCarrier {
        let exotel = try webhooks.carrier(
            ExotelCarrier.self, settings: "EXOTEL_WEBHOOK_TOKEN and APP_PUBLIC_BASE_URL")
        guard let given = request.queryValue("token") ?? Self.password(request) else {
            throw CarrierWebhooks.forbidden(.signatureMissing, header: "token")
        }
        guard DigestText.isEqual(given, exotel.webhookToken) else {
            throw CarrierWebhooks.forbidden(.signatureWrong, header: "token")
        }
        return exotel
    }

    /// Of Basic authentication (RFC 7617), from `https://user:password@host`.
    private static func password(_ request: HTTPRequest) -> String? {
        let scheme = "basic "
        guard let given = request.headers["authorization"], given.lowercased().hasPrefix(scheme),
            let data = Data(base64Encoded: String(given.dropFirst(scheme.count)))
        else { return nil }
        let pair = String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1)
        return pair.count == 2 ? String(pair[1]) : nil
    }
}
