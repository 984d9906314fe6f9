internal import Agents
internal import Calls
internal import Delivery
internal import Foundation
internal import JSON
internal import Problems
internal import Realtime

/// `POST /api/outbound/` checked: every bad field is found before anything is stored.
struct CallRequest {
    static let purposeLimit = 2_000
    static let displayNameLimit = 100
    /// Bytes of `metadata` as JSON.
    static let metadataLimit = 16_384
    private static let usualDuration = Call.usualDuration
    /// Needed unless an agent has them.
    private static func unrequired(_ field: Field) -> Field {
        var field = field
        field.isRequired = false
        field.help += "; needed unless the agent has it"
        return field
    }

    static let purpose = Field("purpose", .text(purposeLimit, .paragraph), required: true, "why we call")
    static let displayName = Field(
        "caller_display_name", .text(displayNameLimit), mayBeBlank: true, "who the AI says it calls for")
    static let language = Field("language", .language, "BCP 47 tag of the conversation, e.g. ko")
    private static let voicemailActions = VoicemailAction.allCases.map(\.rawValue)

    static let form = Form(
        "NewCall", path: "outbound",
        [
            Field("caller_number", .phoneNumber, required: true, "number shown to the callee"),
            Field(
                "callee_number", .text(Field.Kind.addressLimit), required: true,
                "number, `sip:` address, or `browser:` for the requesting user's browser"),
            unrequired(purpose), unrequired(QuestionFields.field), displayName,
            Field(
                "max_duration", .integer(10...3_600), default: .whole(usualDuration),
                "seconds until the call is ended"),
            Field("priority", .integer(1...10), default: 5, "higher is dialled first"),
            Field("scheduled_at", .time, "dial no earlier"),
            Field("retry_on_no_answer", .boolean, default: true, "dial again if nobody answers"),
            Field("max_retries", .integer(0...10), "attempts after the first"),
            language,
            AgentFields.agent, AgentFields.variables,
            Field("metadata", .free, "returned untouched; at most \(metadataLimit) bytes"),
            Field("webhook_url", .url, "https address that the call's events are posted to"),
            StreamFields.field,
            Field("voicemail", .choice(voicemailActions), "what to do when a machine answers"),
            Field("voicemail_message", .text(VoicemailPolicy.messageLimit, .paragraph), "what is said to the machine"),
        ],
        defaults: {
            [
                "max_duration": .whole(min(usualDuration, $0.maxCallDuration)),
                "max_retries": .whole($0.retry.maxRetries),
                "language": .string($0.language),
            ]
        }, notes: { ["language": languageNotes($0)] })

    /// What calls in the languages that a form offers would be warned of.
    static func languageNotes(_ settings: CallSettings) -> [String: JSONValue] {
        let languages = Set(SpeechCatalog.embeddedLanguages + [settings.language])
        return [
            "x-warnings": .object(
                Dictionary(
                    uniqueKeysWithValues: languages.compactMap { language in
                        settings.warning(language: language).map { (language, JSONValue.object($0.json)) }
                    }))
        ]
    }

    var call: Call
    var warnings: [Problem]
    /// The caller number is not on the configured whitelist; it may still be one of the stored numbers.
    var notAllowed: Routing.Refusal?

    init(
        _ body: [UInt8], settings: CallSettings, webhooks: WebhookSender.Settings, requestedBy: String, now: Date,
        agent: AgentFields.Choice = .configuration, environment: AgentEnvironment = AgentEnvironment()
    ) throws(APIError) {
        var fields = try FieldReader(body, Self.form)
        let questions = QuestionFields.questions(&fields)
        if let date = fields.time("scheduled_at"), date <= now { fields.fail("scheduled_at", .inThePast) }
        let order = AgentFields.order(&fields, agent)
        if let url = fields.text("webhook_url"), let problem = WebhookSender.problem(with: url, settings: webhooks) {
            fields.fail("webhook_url", problem)
        }
        let voicemail = Self.voicemail(&fields, settings)
        let metadata = fields.values.free("metadata").map { JSONValue.object($0).text }
        if let metadata, metadata.utf8.count > Self.metadataLimit {
            fields.fail("metadata", .tooLarge, ["limit": .number(Self.metadataLimit)])
        }
        let party = Self.party(&fields, settings, requestedBy: requestedBy)
        let stream = StreamFields.stream(&fields, settings, isOverSIP: party.isOverSIP)
        if !fields.errors.isEmpty {
            var error = APIError.invalid(fields.errors)
            if fields.errors.count == 1, let noRoute = party.noRoute { error.code = noRoute.code.rawValue }
            if let code = AgentFields.code(of: fields.errors) { error.code = code }
            throw error
        }
        guard let caller = fields.text("caller_number"), let callee = party.callee,
            let duration = fields.integer("max_duration"), let priority = fields.integer("priority"),
            let retryOnNoAnswer = fields.boolean("retry_on_no_answer")
        else { throw APIError.invalid(fields.errors) }
        let language = fields.text("language") ?? agent.version?.language ?? settings.language
        warnings = []
        if duration > settings.maxCallDuration, fields.sent("max_duration") != nil {
            warnings.append(Problem(.durationLowered, ["seconds": .number(settings.maxCallDuration)]))
        }
        if let version = agent.version {
            warnings += environment.warnings(of: version.document, language: language)
        } else if let warning = settings.warning(language: language) {
            warnings.append(warning)
        }
        var brief = Call.brief(of: settings)
        brief.purpose = fields.text("purpose") ?? ""
        brief.callerDisplayName = fields.text("caller_display_name") ?? ""
        brief.questions = questions
        brief.language = language
        var call = Call(
            localNumber: caller, remoteNumber: callee,
            brief: brief,
            maxDuration: min(duration, settings.maxCallDuration), priority: priority,
            scheduledAt: fields.time("scheduled_at"), retryOnNoAnswer: retryOnNoAnswer && !party.isBrowser,
            maxRetries: party.isBrowser ? 0 : fields.integer("max_retries") ?? settings.retry.maxRetries,
            metadata: metadata, requestedBy: requestedBy, webhookURL: fields.text("webhook_url"), voicemail: voicemail,
            stream: stream, createdAt: now)
        if let version = agent.version {
            call.take(
                version, order, over: Call.brief(of: settings), duration: Self.usualDuration, in: settings,
                zone: environment.timeZone, at: now)
        }
        self.call = call
        notAllowed = party.notAllowed
    }

    /// The callee, and the reasons against calling it.
    private struct Party {
        var callee: String?
        var isBrowser = false
        /// nil: there is no route.
        var isOverSIP: Bool?
        var noRoute: Routing.Refusal?
        var notAllowed: Routing.Refusal?
    }

    /// The numbers of both sides against the rules for them.
    private static func party(_ fields: inout FieldReader, _ settings: CallSettings, requestedBy: String) -> Party {
        var party = Party(callee: fields.text("callee_number"))
        if let callee = party.callee, callee.lowercased().hasPrefix(Call.browserPrefix) {
            let own = Call.browserPrefix + requestedBy
            if callee.count != Call.browserPrefix.count, callee != own {
                fields.fail("callee_number", .onlyOwnBrowser)
            }
            party.isBrowser = true
            party.callee = own
        }
        var route: Routing.Route?
        if let callee = party.callee {
            do throws(Routing.Refusal) { route = try settings.routing.route(to: callee) } catch {
                fields.fail("callee_number", error.problem)
                if error.code != .invalid { party.noRoute = error }
            }
        }
        party.isOverSIP = route.map { if case .sip = $0 { true } else { false } }
        if let caller = fields.text("caller_number") {
            do throws(Routing.Refusal) { try settings.routing.checkCaller(caller, for: route) } catch {
                if error.code == .callerNotAllowed {
                    party.notAllowed = error
                } else {
                    fields.fail("caller_number", error.problem)
                }
            }
        }
        return party
    }

    /// The members `voicemail` and `voicemail_message`.
    private static func voicemail(_ fields: inout FieldReader, _ settings: CallSettings) -> VoicemailPolicy? {
        let message = fields.text("voicemail_message")
        let action = fields.choice("voicemail", as: VoicemailAction.self)
        if action == .leaveMessage, message == nil, settings.voicemail.message == nil {
            fields.fail("voicemail_message", .requiredMessage)
        }
        return action == nil && message == nil ? nil : VoicemailPolicy(action: action, message: message)
    }
}
