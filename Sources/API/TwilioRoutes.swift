internal import Bridge
internal import Calls
internal import Foundation
internal import Logging
internal import Net

/// What Twilio asks us: what to do with a call, and tells us: what became of it. Trusted by its signature alone.
struct TwilioRoutes: Sendable {
    /// Fields of a form, and bytes of one of them.
    private static let fieldLimit = 200
    private static let valueLimit = 4_096

    let services: Routes.Services

    /// `POST /twilio/voice`: a call has come; connect it to our media stream, with a token for this call alone.
    func voice(_ request: HTTPRequest) throws -> HTTPResponse {
        let (form, twilio) = try checked(request)
        guard let callSid = form["CallSid"], !callSid.isEmpty else { throw APIError.invalid("CallSid", "is missing") }
        let token = services.tickets.issue(
            StreamTickets.Ticket(providerCallID: callSid, from: form["From"] ?? "", to: form["To"] ?? ""))
        let url = twilio.streamURL ?? Self.webSocket(twilio.publicURL) + "/media/twilio"
        return Self.twiML(TwiML.connect(stream: url, parameters: [("token", token)]))
    }

    /// `POST /twilio/status`: a call's or a stream's state has changed.
    func status(_ request: HTTPRequest) throws -> HTTPResponse {
        let (form, _) = try checked(request)
        guard let callSid = form["CallSid"], !callSid.isEmpty else { throw APIError.invalid("CallSid", "is missing") }
        var metadata: Logger.Metadata = ["call": "\(callSid.prefix(64))"]
        if let state = form["CallStatus"] ?? form["StreamEvent"] { metadata["state"] = "\(state.prefix(32))" }
        if form["StreamEvent"] == "stream-error" {
            services.logger.warning(
                "Twilio reports a stream error", metadata: metadata.merging(["error": "\((form["StreamError"] ?? "").prefix(200))"]) { $1 })
        } else {
            services.logger.info("Twilio reports a call's state", metadata: metadata)
        }
        return HTTPResponse(status: 204)
    }

    /// The form's fields, once the signature over them has been found right.
    private func checked(_ request: HTTPRequest) throws -> ([String: String], Routes.Twilio) {
        guard let twilio = services.twilio else {
            throw APIError.notFound("Twilio is not set up: set TWILIO_AUTH_TOKEN and APP_PUBLIC_BASE_URL")
        }
        guard let signature = request.headers["x-twilio-signature"] else { throw Self.forbidden("X-Twilio-Signature is missing") }
        let url = twilio.publicURL + request.path + Self.query(request.query)
        let isForm = (request.headers["content-type"] ?? "").lowercased().hasPrefix("application/x-www-form-urlencoded")
        let fields = isForm ? try Self.form(request.body) : []
        let isValid =
            isForm || request.body.isEmpty
            ? twilio.signature.isValid(signature, url: url, form: fields) : twilio.signature.isValid(signature, url: url, body: request.body)
        guard isValid else { throw Self.forbidden("X-Twilio-Signature is not right for this URL and body") }
        return (Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }, twilio)
    }

    private static func forbidden(_ detail: String) -> APIError {
        APIError(status: 403, code: "bad_signature", title: "Forbidden", detail: detail)
    }

    private static func form(_ body: [UInt8]) throws -> [(name: String, value: String)] {
        let items = String(decoding: body, as: UTF8.self).split(separator: "&")
        guard items.count <= fieldLimit else { throw APIError.invalid("body", "has more than \(fieldLimit) fields") }
        return try items.map { item in
            let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.replacing("+", with: " ").removingPercentEncoding
            }
            guard let name = pair[0], let value = pair.count > 1 ? pair[1] : "", value.utf8.count <= valueLimit else {
                throw APIError.invalid("body", "is no form")
            }
            return (name, value)
        }
    }

    /// The query as it was written, as far as decoding left it: what the signature covers.
    private static func query(_ items: [(name: String, value: String)]) -> String {
        guard !items.isEmpty else { return "" }
        let plain = CharacterSet.alphanumerics.union(.init(charactersIn: "-._~"))
        return "?"
            + items.map { item in
                [item.name, item.value].map { $0.addingPercentEncoding(withAllowedCharacters: plain) ?? $0 }.joined(separator: "=")
            }.joined(separator: "&")
    }

    private static func webSocket(_ url: String) -> String {
        url.hasPrefix("https://") ? "wss://" + url.dropFirst(8) : url.hasPrefix("http://") ? "ws://" + url.dropFirst(7) : url
    }

    private static func twiML(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 200, contentType: TwiML.contentType, Array(text.utf8))
    }
}
