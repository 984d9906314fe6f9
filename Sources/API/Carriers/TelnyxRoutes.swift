internal import Bridge
internal import Calls
internal import Net
internal import Problems

/// What Telnyx asks us: what to do with a call, and tells us: what became of it. Trusted by its signature alone.
///
/// Calls of TeXML ask by forms and are answered by markup. Calls of Call Control tell their events as JSON
/// (`TelnyxEventRoutes`), and we answer by commands of our own.
struct TelnyxRoutes: CarrierRoutes {
    static let prefix = "/telnyx/"

    private let markup: MarkupWebhooks
    private let events: TelnyxEventRoutes

    init(services: Routes.Services) {
        markup = MarkupWebhooks(services)
        events = TelnyxEventRoutes(services)
    }

    var all: [CarrierRoute] {
        [
            CarrierRoute("POST", "/telnyx/voice", voice),
            CarrierRoute("POST", "/telnyx/status", status),
            CarrierRoute("POST", "/telnyx/transferred", transferred),
        ]
    }

    /// `POST /telnyx/voice`: an event of Call Control; or what is to be done with a call of TeXML.
    ///
    /// That is connected to our media stream, with a token for this call alone. When the stream has ended it asks
    /// again (`?after=stream`), and is transferred or ends.
    func voice(_ request: HTTPRequest) async throws -> HTTPResponse {
        let telnyx = try checked(request)
        guard CarrierWebhooks.isForm(request) else { return try await event(request, telnyx) }
        let (form, callID) = try form(request, telnyx)
        if request.queryValue("after") == "stream" {
            return MarkupWebhooks.dial(
                telnyx.transfers.take(callID), transferred: telnyx.publicURL + "/telnyx/transferred")
        }
        switch await markup.answer(form, call: callID, of: nil, by: telnyx) {
        case .told(let response): return response
        case .connect(let id):
            telnyx.transfers.expect(callID)
            let token = markup.webhooks.token(for: callID, callID: id)
            return MarkupWebhooks.response(
                CallMarkup.connect(
                    stream: telnyx.stream.markupURL, attributes: telnyx.stream.attributes,
                    parameters: [("token", token)], next: telnyx.publicURL + "/telnyx/voice?after=stream"))
        }
    }

    private func event(_ request: HTTPRequest, _ telnyx: TelnyxCarrier) async throws(APIError) -> HTTPResponse {
        let event: TelnyxEvent
        do throws(TelnyxEvent.Malformed) { event = try TelnyxEvent(request.body) } catch {
            switch error {
            case .notJSON: throw APIError.invalid("body", .bodyNotObject)
            case .notObject(let field): throw APIError.invalid(field, .notObject)
            case .notText(let field): throw APIError.invalid(field, .notText)
            case .notCallID(let field): throw CarrierWebhooks.notACall(field, of: TelnyxCarrier.self)
            case .missing(let field): throw APIError.invalid(field, .required)
            }
        }
        return try await events.take(event, by: telnyx)
    }

    /// `POST /telnyx/transferred`: the call to an operator is over, or came to nothing.
    func transferred(_ request: HTTPRequest) async throws -> HTTPResponse {
        let telnyx = try checked(request)
        return try markup.transferred(request, try form(request, telnyx).fields)
    }

    /// `POST /telnyx/status`: a state of a call of TeXML has changed, or one of its stream's.
    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let telnyx = try checked(request)
        let (form, callID) = try form(request, telnyx)
        _ = await markup.status(form, call: callID, of: nil, by: telnyx)
        return CarrierWebhooks.noContent
    }

    private func form(
        _ request: HTTPRequest, _ telnyx: TelnyxCarrier
    ) throws(APIError) -> (fields: [String: String], callID: String) {
        let fields = CarrierWebhooks.byName(try CarrierWebhooks.form(request.body))
        return (fields, try MarkupWebhooks.callID(in: fields, of: telnyx))
    }

    /// - Throws: 403 for a request that Telnyx has not signed, or not just now.
    private func checked(_ request: HTTPRequest) throws(APIError) -> TelnyxCarrier {
        let telnyx = try markup.webhooks.carrier(
            TelnyxCarrier.self, settings: "TELNYX_PUBLIC_KEY and APP_PUBLIC_BASE_URL")
        let signature = try CarrierWebhooks.proof(TelnyxSignature.header, of: request)
        let timestamp = try CarrierWebhooks.proof(TelnyxSignature.timestampHeader, of: request)
        let now = markup.webhooks.now
        switch telnyx.signature.verdict(on: signature, timestamp: timestamp, body: request.body, at: now) {
        case .valid: return telnyx
        case .wrong: throw CarrierWebhooks.forbidden(.signatureWrong, header: TelnyxSignature.header)
        case .untimely: throw CarrierWebhooks.forbidden(.signatureUntimely, header: TelnyxSignature.timestampHeader)
        }
    }
}
