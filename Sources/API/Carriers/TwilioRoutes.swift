internal import Bridge
internal import Calls
internal import Foundation
internal import Logging
internal import Net
internal import Pipeline
internal import Problems
internal import Realtime

/// What Twilio asks us: what to do with a call, and tells us: what became of it. Trusted by its signature alone.
struct TwilioRoutes: CarrierRoutes {
    static let prefix = "/twilio/"

    private let services: Routes.Services
    /// Bytes of the recording of one turn.
    private static let recordingLimit = TurnBasedCall.recordingLimit * 16_000 + 4_096

    private static let signatureHeader = "X-Twilio-Signature"

    private let audioPaths = SignedPath()
    private let markup: MarkupWebhooks

    init(services: Routes.Services) {
        self.services = services
        markup = MarkupWebhooks(services)
    }

    var all: [CarrierRoute] {
        [
            CarrierRoute("POST", "/twilio/voice", voice),
            CarrierRoute("GET", "/twilio/audio/{call}/{turn}", audio),
            CarrierRoute("POST", "/twilio/status", status),
            CarrierRoute("POST", "/twilio/transferred", transferred),
        ]
    }

    /// `POST /twilio/voice`: what is to be done with a call that comes in, or with one of ours (`?call=`) that was
    /// answered.
    ///
    /// It is connected to our media stream, with a token for this call alone; or, where there are no streams, it goes
    /// by turns, and each recording of the caller comes here too (`?turn=`).
    func voice(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, twilio) = try checked(request)
        let callSid = try MarkupWebhooks.callID(in: form)
        if let number = request.queryValue("turn").flatMap({ Int($0) }) {
            guard let conversation = services.turns.conversation(of: callSid) else {
                return MarkupWebhooks.response(CallMarkup.hangUp)
            }
            let heard = await heard(form, twilio)
            return MarkupWebhooks.response(
                turn(await conversation.turn(after: number, heard: heard), of: callSid, twilio))
        }
        let isAfterStream = request.queryValue("after") == "stream"
        let isStreamLost = isAfterStream && services.tickets.revoke(providerCallID: callSid)
        // Where the stream has been, the call is done.
        if isAfterStream, !isStreamLost { return MarkupWebhooks.response(CallMarkup.hangUp) }
        let asked = request.queryValue("call"), callID: String
        switch await markup.answer(form, call: callSid, of: asked, by: twilio) {
        case .connect(let id): callID = id
        case .told(let response): return response
        }
        if isStreamLost {
            services.logger.warning(
                "a media stream did not come: the call goes by turns", metadata: ["call": "\(callSid.prefix(64))"])
        }
        if twilio.isTurnBased || isStreamLost, twilio.rest != nil {
            guard let conversation = services.turns.begin(callSid, callID: callID) else {
                return MarkupWebhooks.response(CallMarkup.hangUp)
            }
            return MarkupWebhooks.response(turn(await conversation.begin(), of: callSid, twilio))
        }
        // The stream's URL must have no query (error 31920), so the token goes into a parameter.
        let token = markup.webhooks.token(for: callSid, callID: callID)
        let query = [("after", "stream")] + (asked.map { [("call", $0)] } ?? [])
        let next = twilio.rest == nil ? nil : twilio.publicURL + "/twilio/voice?" + HTTPForm.encode(query)
        return MarkupWebhooks.response(
            CallMarkup.connect(stream: twilio.streamURL, parameters: [("token", token)], next: next))
    }

    private func turn(_ turn: TurnBasedCall.Turn, of callSid: String, _ twilio: TwilioCarrier) -> String {
        let path = "/twilio/audio/\(HTTPForm.escaped(callSid))/\(turn.number)"
        let url = turn.audio.isEmpty ? nil : twilio.publicURL + audioPaths.sign(path, at: turn.madeAt)
        guard !turn.isLast else { return CallMarkup.goodbye(play: url) }
        return CallMarkup.turn(
            play: url, next: "\(twilio.publicURL)/twilio/voice?turn=\(turn.number)",
            silenceSeconds: TurnBasedCall.endSilenceMs / 1_000,
            limitSeconds: TurnBasedCall.recordingLimit)
    }

    /// What came of the caller's turn; a recording that cannot be had is silence, so that the question is asked again.
    private func heard(_ form: [String: String], _ twilio: TwilioCarrier) async -> TurnBasedCall.Heard {
        if let keys = form["Digits"], !keys.isEmpty, keys != "hangup" { return .keys(keys) }
        guard let url = form["RecordingUrl"], let rest = twilio.rest else { return .silence }
        do { return .speech(try WaveFile(try await rest.recording(url, limit: Self.recordingLimit))) } catch {
            services.logger.warning("a caller's recording cannot be had: \(error)")
            return .silence
        }
    }

    /// `GET /twilio/audio/{call}/{turn}`: a turn of ours, for `<Play>`; by the code in its URL.
    func audio(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let callSid = request.parameters["call"], let text = request.parameters["turn"], let number = Int(text),
            audioPaths.isValid(
                "/twilio/audio/\(HTTPForm.escaped(callSid))/\(number)", expires: request.queryValue("expires"),
                code: request.queryValue("code"),
                at: services.now())
        else {
            throw CarrierWebhooks.forbidden(.urlExpired, header: Self.signatureHeader)
        }
        guard let audio = await services.turns.conversation(of: callSid)?.audio(of: number) else {
            throw APIError.notFound(.noTurn)
        }
        return HTTPResponse(status: 200, contentType: "audio/wav", audio)
    }

    /// `POST /twilio/transferred`: the call to an operator is over, or came to nothing; then the caller is told, for
    /// our stream has ended.
    func transferred(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, _) = try checked(request)
        return try markup.transferred(request, form)
    }

    /// `POST /twilio/status`: a call's or a stream's state has changed, or Twilio has found out who answered.
    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, twilio) = try checked(request)
        let callSid = try MarkupWebhooks.callID(in: form)
        let report = await markup.status(form, call: callSid, of: request.queryValue("call"), by: twilio)
        if let report, report.isFinal { await services.turns.ended(callSid) }
        return CarrierWebhooks.noContent
    }

    /// The form's fields, once the signature over them has been found right.
    private func checked(_ request: HTTPRequest) throws -> ([String: String], TwilioCarrier) {
        let twilio = try markup.webhooks.carrier(
            TwilioCarrier.self, settings: "TWILIO_AUTH_TOKEN and APP_PUBLIC_BASE_URL")
        let form = try MarkupWebhooks.checked(
            request, twilio.signature, header: Self.signatureHeader, publicURL: twilio.publicURL)
        return (form, twilio)
    }
}
