internal import Bridge
internal import Calls
internal import Net

/// What SignalWire asks us: what to do with a call, and tells us: what became of it. Trusted by its signature alone.
struct SignalWireRoutes: CarrierRoutes {
    static let prefix = "/signalwire/"
    private static let signatureHeader = "X-SignalWire-Signature"

    private let markup: MarkupWebhooks

    init(services: Routes.Services) { markup = MarkupWebhooks(services) }

    var all: [CarrierRoute] {
        [
            CarrierRoute("POST", "/signalwire/voice", voice),
            CarrierRoute("POST", "/signalwire/status", status),
            CarrierRoute("POST", "/signalwire/transfer", transfer),
            CarrierRoute("POST", "/signalwire/transferred", transferred),
        ]
    }

    /// `POST /signalwire/voice`: what is to be done with a call that comes in, or with one of ours (`?call=`) that was
    /// answered. It is connected to our media stream, with a token for this call alone.
    func voice(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, callID, signalWire) = try checked(request)
        switch await markup.answer(form, call: callID, of: request.queryValue("call"), by: signalWire) {
        case .told(let response): return response
        case .connect(let id):
            let token = markup.webhooks.token(for: callID, callID: id)
            return MarkupWebhooks.response(
                CallMarkup.connect(
                    stream: signalWire.streamURL, attributes: signalWire.format.attributes(token: token)))
        }
    }

    /// `POST /signalwire/transfer`: a call was taken from our stream by the API, and whom is it to dial?
    func transfer(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (_, callID, signalWire) = try checked(request)
        return MarkupWebhooks.dial(
            signalWire.transfers.take(callID), transferred: signalWire.publicURL + "/signalwire/transferred")
    }

    /// `POST /signalwire/transferred`: the call to an operator is over, or came to nothing.
    func transferred(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, _, _) = try checked(request)
        return try markup.transferred(request, form)
    }

    /// `POST /signalwire/status`: a call's or a stream's state has changed, or SignalWire has found out who answered.
    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, callID, signalWire) = try checked(request)
        _ = await markup.status(form, call: callID, of: request.queryValue("call"), by: signalWire)
        return CarrierWebhooks.noContent
    }

    private func checked(_ request: HTTPRequest) throws -> ([String: String], callID: String, SignalWireCarrier) {
        let signalWire = try markup.webhooks.carrier(
            SignalWireCarrier.self, settings: "SIGNALWIRE_SIGNING_KEY and APP_PUBLIC_BASE_URL")
        let form = try MarkupWebhooks.checked(
            request, signalWire.signature, header: Self.signatureHeader, publicURL: signalWire.publicURL)
        return (form, try MarkupWebhooks.callID(in: form, of: signalWire), signalWire)
    }
}
