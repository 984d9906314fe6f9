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
    private let webhooks: CarrierWebhooks

    init(services: Routes.Services) {
        self.services = services
        webhooks = CarrierWebhooks(services)
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
        guard let callSid = form["CallSid"], !callSid.isEmpty else { throw APIError.invalid("CallSid", .required) }
        if let number = request.queryValue("turn").flatMap({ Int($0) }) {
            guard let conversation = services.turns.conversation(of: callSid) else { return Self.twiML(TwiML.hangUp) }
            let heard = await heard(form, twilio)
            return Self.twiML(turn(await conversation.turn(after: number, heard: heard), of: callSid, twilio))
        }
        let isAfterStream = request.queryValue("after") == "stream"
        let isStreamLost = isAfterStream && services.tickets.revoke(providerCallID: callSid)
        // Where the stream has been, the call is done.
        if isAfterStream, !isStreamLost { return Self.twiML(TwiML.hangUp) }
        let asked = request.queryValue("call"), callID: String
        let report = CarrierReport(twilioCall: callSid, status: asked == nil ? nil : "in-progress")
        switch await webhooks.answer(report, of: asked, by: twilio, from: form["From"], to: form["To"]) {
        case .taken(let id): callID = id
        case .over: return Self.twiML(TwiML.hangUp)
        case .refused(let isBusy): return Self.twiML(TwiML.reject(isBusy: isBusy))
        }
        if isStreamLost {
            services.logger.warning(
                "a media stream did not come: the call goes by turns", metadata: ["call": "\(callSid.prefix(64))"])
        }
        if twilio.isTurnBased || isStreamLost, twilio.rest != nil {
            guard let conversation = services.turns.begin(callSid, callID: callID) else {
                return Self.twiML(TwiML.hangUp)
            }
            return Self.twiML(turn(await conversation.begin(), of: callSid, twilio))
        }
        let token = webhooks.token(for: callSid, callID: callID)
        let query = [("after", "stream")] + (asked.map { [("call", $0)] } ?? [])
        let next = twilio.rest == nil ? nil : twilio.publicURL + "/twilio/voice?" + HTTPForm.encode(query)
        return Self.twiML(TwiML.connect(stream: twilio.streamURL, parameters: [("token", token)], next: next))
    }

    private func turn(_ turn: TurnBasedCall.Turn, of callSid: String, _ twilio: TwilioCarrier) -> String {
        let path = "/twilio/audio/\(HTTPForm.escaped(callSid))/\(turn.number)"
        let url = turn.audio.isEmpty ? nil : twilio.publicURL + audioPaths.sign(path, at: turn.madeAt)
        guard !turn.isLast else { return TwiML.goodbye(play: url) }
        return TwiML.turn(
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
        guard let status = form["DialCallStatus"] else { throw APIError.invalid("DialCallStatus", .required) }
        if ["completed", "answered"].contains(status) { return Self.twiML(TwiML.hangUp) }
        services.logger.warning("nobody took a transferred call", metadata: ["state": "\(status.prefix(32))"])
        let apology = SpokenText.nobodyAvailable(language: request.queryValue("language") ?? "en")
        return Self.twiML(TwiML.say(apology.text, language: apology.locale))
    }

    /// `POST /twilio/status`: a call's or a stream's state has changed, or Twilio has found out who answered.
    func status(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (form, twilio) = try checked(request)
        guard let callSid = form["CallSid"], !callSid.isEmpty else { throw APIError.invalid("CallSid", .required) }
        if let event = form["StreamEvent"] {
            if event == "stream-error" {
                services.logger.warning(
                    "Twilio reports a stream error",
                    metadata: [
                        "call": "\(callSid.prefix(64))", "error": "\((form["StreamError"] ?? "").prefix(200))",
                    ])
            }
            return HTTPResponse(status: 204)
        }
        let report = CarrierReport(
            twilioCall: callSid, status: form["CallStatus"], sipCode: form["SipResponseCode"].flatMap { Int($0) },
            answeredBy: form["AnsweredBy"])
        await webhooks.take(report, of: request.queryValue("call"), by: twilio)
        if report.isFinal { await services.turns.ended(callSid) }
        return HTTPResponse(status: 204)
    }

    /// The form's fields, once the signature over them has been found right.
    private func checked(_ request: HTTPRequest) throws -> ([String: String], TwilioCarrier) {
        let twilio = try webhooks.carrier(
            TwilioCarrier.self, settings: "TWILIO_AUTH_TOKEN and APP_PUBLIC_BASE_URL")
        guard let signature = request.headers[TwilioSignature.header] else {
            throw CarrierWebhooks.forbidden(.signatureMissing, header: Self.signatureHeader)
        }
        let url = twilio.publicURL + request.path + CarrierWebhooks.query(of: request)
        let isForm = (request.headers["content-type"] ?? "").lowercased().hasPrefix(HTTPForm.contentType)
        let fields = isForm ? try CarrierWebhooks.form(request.body) : []
        let isValid =
            isForm || request.body.isEmpty
            ? twilio.signature.isValid(signature, url: url, form: fields)
            : twilio.signature.isValid(signature, url: url, body: request.body)
        guard isValid else { throw CarrierWebhooks.forbidden(.signatureWrong, header: Self.signatureHeader) }
        return (Dictionary(fields.map { ($0.name, $0.value) }) { first, _ in first }, twilio)
    }

    private static func twiML(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 200, contentType: TwiML.contentType, Array(text.utf8))
    }
}
