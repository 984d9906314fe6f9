// Over 400 lines: one type reads every field of a call, and its rules refer to each other.
internal import Calls
internal import Foundation
internal import Realtime

/// `POST /api/outbound/` checked: every bad field is found before anything is stored.
struct CallRequest {
    static let purposeLimit = 2_000
    static let questionLimit = 500
    static let questionCount = 1...20
    static let displayNameLimit = 100
    static let durationRange = 10...3_600
    static let metadataLimit = 16_384
    static let choiceCount = 2...9

    private static let known: Set<String> = [
        "caller_number", "callee_number", "purpose", "questions", "caller_display_name", "max_duration", "priority",
        "scheduled_at",
        "retry_on_no_answer", "max_retries", "language", "agent", "metadata", "webhook_url", "voicemail",
        "voicemail_message",
    ]
    /// Agents that there are.
    static let agents = ["default"]

    var call: Call
    var warnings: [String]
    /// The caller number is not on the configured whitelist; it may still be one of the stored numbers.
    var notAllowed: Routing.Refusal?

    init(
        _ body: [UInt8], settings: CallSettings, webhooks: WebhookSender.Settings, requestedBy: String, now: Date
    ) throws(APIError) {
        var fields = try FieldReader(body: body, known: Self.known)
        let members = fields.members

        var warnings: [String] = []
        let caller = fields.text("caller_number", required: true, limit: 64)
        var callee = fields.text("callee_number", required: true, limit: 256)
        let purpose = fields.text("purpose", required: true, limit: Self.purposeLimit, .paragraph)
        let displayName =
            fields.text("caller_display_name", required: false, limit: Self.displayNameLimit, mayBeBlank: true) ?? ""
        var maxDuration = fields.integer("max_duration", in: Self.durationRange) ?? 180
        if maxDuration > settings.maxCallDuration {
            maxDuration = settings.maxCallDuration
            if members["max_duration"] != nil {
                warnings.append(
                    "max_duration was lowered to \(settings.maxCallDuration) s (outbound.max_call_duration)")
            }
        }
        let priority = fields.integer("priority", in: 1...10) ?? 5
        let retryOnNoAnswer = fields.boolean("retry_on_no_answer") ?? true
        let maxRetries = fields.integer("max_retries", in: 0...10) ?? settings.retry.maxRetries
        var scheduledAt: Date?
        if let text = fields.text("scheduled_at", required: false, limit: Timestamp.lengthLimit) {
            if let date = Timestamp.parse(text) {
                if date <= now { fields.fail("scheduled_at", "lies in the past") } else { scheduledAt = date }
            } else {
                fields.fail("scheduled_at", "must be an RFC 3339 time with an offset, e.g. 2026-11-21T09:30:00+09:00")
            }
        }
        var language = settings.language
        if let text = fields.text("language", required: false, limit: LanguageTag.lengthLimit) {
            if LanguageTag.isWellFormed(text) {
                language = text
            } else {
                fields.fail("language", "must be a BCP 47 tag, e.g. en or ko")
            }
        }
        if let agent = fields.text("agent", required: false, limit: 64), !Self.agents.contains(agent) {
            fields.fail("agent", "there is no agent with this name")
        }
        let webhook = fields.url("webhook_url", webhooks)
        let questions = Self.questions(&fields)
        let voicemail = Self.voicemail(&fields, settings)
        var metadata: String?
        switch members["metadata"] {
        case nil, .null: break
        case .object(let value):
            let text = JSONValue.object(value).text
            if text.utf8.count > Self.metadataLimit {
                fields.fail("metadata", "is larger than \(Self.metadataLimit) bytes")
            }
            metadata = text
        default: fields.fail("metadata", "must be an object")
        }

        var noRoute: Routing.Refusal?
        var route: Routing.Route?
        let isForBrowser = callee?.lowercased().hasPrefix(Call.browserPrefix) == true
        if isForBrowser {
            let own = Call.browserPrefix + requestedBy
            if callee?.count != Call.browserPrefix.count, callee != own {
                fields.fail(
                    "callee_number", "must be browser: alone: the call is for the browser of whoever asks for it")
            }
            callee = own
        }
        if let callee {
            do throws(Routing.Refusal) { route = try settings.routing.route(to: callee) } catch {
                fields.fail("callee_number", error.message)
                if error.code != .invalid { noRoute = error }
            }
        }
        var notAllowed: Routing.Refusal?
        if let caller {
            do throws(Routing.Refusal) { try settings.routing.checkCaller(caller, for: route) } catch {
                if error.code == .callerNotAllowed {
                    notAllowed = error
                } else {
                    fields.fail("caller_number", error.message)
                }
            }
        }
        if !fields.errors.isEmpty {
            var error = APIError.invalid(fields.errors)
            if fields.errors.count == 1, let noRoute { error.code = noRoute.code.rawValue }
            throw error
        }
        guard let caller, let callee, let purpose else { throw APIError.invalid(fields.errors) }
        if !settings.understands(language) {
            warnings.append(
                "the embedded recogniser knows English only: in \(language) the AI speaks, and answers are taken by keypad"
            )
        }
        call = Call(
            localNumber: caller, remoteNumber: callee,
            brief: Brief(
                purpose: purpose, callerDisplayName: displayName, questions: questions, language: language,
                maxTurns: settings.maxTurns,
                greetingTemplate: settings.greetingTemplate, closingTemplate: settings.closingTemplate),
            maxDuration: maxDuration, priority: priority, scheduledAt: scheduledAt,
            retryOnNoAnswer: retryOnNoAnswer && !isForBrowser, maxRetries: isForBrowser ? 0 : maxRetries,
            metadata: metadata,
            requestedBy: requestedBy, webhookURL: webhook, voicemail: voicemail,
            createdAt: now)
        self.warnings = warnings
        self.notAllowed = notAllowed
    }

    /// The members `voicemail` and `voicemail_message`.
    private static func voicemail(_ fields: inout FieldReader, _ settings: CallSettings) -> VoicemailPolicy? {
        let message = fields.text("voicemail_message", required: false, limit: VoicemailPolicy.messageLimit, .paragraph)
        var action: VoicemailAction?
        if let name = fields.text("voicemail", required: false, limit: 64) {
            action = VoicemailAction(rawValue: name)
            if action == nil {
                fields.fail(
                    "voicemail", "must be one of \(VoicemailAction.allCases.map(\.rawValue).joined(separator: ", "))")
            }
        }
        if action == .leaveMessage, message == nil, settings.voicemail.message == nil {
            fields.fail(
                "voicemail_message", "is required: there is no message for all calls (outbound.ai.voicemail_message)")
        }
        return action == nil && message == nil ? nil : VoicemailPolicy(action: action, message: message)
    }

    /// The member `questions`; what is wrong with it is noted.
    static func questions(_ fields: inout FieldReader) -> [Question] {
        guard case .array(let items)? = fields.members["questions"] else {
            fields.fail("questions", fields.members["questions"] == nil ? "is required" : "must be an array")
            return []
        }
        guard questionCount.contains(items.count) else {
            fields.fail(
                "questions",
                "must have \(questionCount.lowerBound) to \(questionCount.upperBound) items, not \(items.count)")
            return []
        }
        var result: [Question] = []
        for (index, item) in items.enumerated() {
            let name = "questions[\(index)]"
            let id = "q\(index + 1)"
            switch item {
            case .string(let text):
                if let text = checked(text, name, &fields) { result.append(Question(id: id, text: text)) }
            case .object(let members):
                for key in members.keys.sorted() where !["text", "type", "choices", "required", "ask_if"].contains(key)
                {
                    fields.fail("\(name).\(key)", "is not a known field")
                }
                let condition = condition(members["ask_if"], "\(name).ask_if", before: index, &fields)
                guard case .string(let raw)? = members["text"] else {
                    fields.fail("\(name).text", members["text"] == nil ? "is required" : "must be a string")
                    continue
                }
                var kind = Question.Kind.text
                switch members["type"] {
                case nil, .null: break
                case .string(let value):
                    if let known = Question.Kind(rawValue: value) {
                        kind = known
                    } else {
                        fields.fail("\(name).type", "must be one of text, boolean, number, choice, date")
                    }
                default: fields.fail("\(name).type", "must be a string")
                }
                var choices: [String] = []
                switch members["choices"] {
                case nil, .null: break
                case .array(let values):
                    for (place, value) in values.enumerated() {
                        guard case .string(let choice) = value, (1...100).contains(choice.count),
                            choice.contains(where: { $0.isLetter || $0.isNumber })
                        else {
                            fields.fail("\(name).choices[\(place)]", "must be a text of 1 to 100 characters")
                            continue
                        }
                        if let problem = TextRule.line.problem(with: choice) {
                            fields.fail("\(name).choices[\(place)]", problem)
                            continue
                        }
                        choices.append(choice)
                    }
                default: fields.fail("\(name).choices", "must be an array of texts")
                }
                if kind == .choice, !choiceCount.contains(choices.count) {
                    fields.fail(
                        "\(name).choices",
                        "must have \(choiceCount.lowerBound) to \(choiceCount.upperBound) items for the type choice")
                }
                if kind != .choice, !choices.isEmpty {
                    fields.fail("\(name).choices", "only goes with the type choice")
                }
                var isRequired = true
                switch members["required"] {
                case nil, .null: break
                case .bool(let value): isRequired = value
                default: fields.fail("\(name).required", "must be true or false")
                }
                if let text = checked(raw, "\(name).text", &fields) {
                    result.append(
                        Question(
                            id: id, text: text, kind: kind, choices: choices, isRequired: isRequired,
                            condition: condition))
                }
            default: fields.fail(name, "must be a string or an object")
            }
        }
        return result
    }

    /// `{"question": "q1", "equals": …}`, of an earlier question.
    private static func condition(_ value: JSONValue?, _ name: String, before index: Int, _ fields: inout FieldReader)
        -> Question.Condition?
    {
        switch value {
        case nil, .null: return nil
        case .object(let members):
            for key in members.keys.sorted() where !["question", "equals"].contains(key) {
                fields.fail("\(name).\(key)", "is not a known field")
            }
            guard case .string(let id)? = members["question"], (0..<index).contains(where: { "q\($0 + 1)" == id })
            else {
                fields.fail("\(name).question", "must be the id of an earlier question, e.g. q1")
                return nil
            }
            switch members["equals"] {
            case .bool(let value): return Question.Condition(question: id, equals: .boolean(value))
            case .number(let number):
                guard let value = number.exact else {
                    fields.fail("\(name).equals", FieldReader.tooExact)
                    return nil
                }
                return Question.Condition(question: id, equals: .number(value))
            case .string(let value) where (1...questionLimit).contains(value.count):
                if let problem = TextRule.paragraph.problem(with: value) { fields.fail("\(name).equals", problem) }
                return Question.Condition(question: id, equals: .text(value))
            default:
                fields.fail("\(name).equals", "must be true or false, a number or a text")
                return nil
            }
        default:
            fields.fail(name, "must be an object")
            return nil
        }
    }

    private static func checked(_ text: String, _ name: String, _ fields: inout FieldReader) -> String? {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !trimmed.isEmpty else {
            fields.fail(name, "is blank")
            return nil
        }
        guard trimmed.count <= questionLimit else {
            fields.fail(name, "is longer than \(questionLimit) characters")
            return nil
        }
        if let problem = TextRule.paragraph.problem(with: text) {
            fields.fail(name, problem)
            return nil
        }
        return trimmed
    }
}

/// Reads typed members and collects what is wrong with them.
struct FieldReader {
    /// Of numbers that we calculate with.
    static let tooExact = "has more digits than can be kept, or is too large"

    let members: [String: JSONValue]
    private(set) var errors: [APIError.Field] = []
    init(_ members: [String: JSONValue]) { self.members = members }

    /// A request's body, which must be an object; members that are not known are noted.
    init(body: [UInt8], known: Set<String>) throws(APIError) {
        let json: JSONValue
        do throws(JSONValue.ParseError) { json = try JSONValue(parsing: body) } catch {
            throw APIError(
                status: error.message.contains("stands twice") ? 422 : 400, code: "invalid_json", title: "Bad Request",
                detail: "the body is not valid JSON: \(error.message), at byte \(error.offset)")
        }
        guard case .object(let members) = json else {
            throw APIError(
                status: 400, code: "invalid_json", title: "Bad Request", detail: "the body must be a JSON object")
        }
        self.members = members
        for name in members.keys.sorted() where !known.contains(name) { fail(name, "is not a known field") }
    }

    /// An object inside another one; what is wrong with it as a whole is noted there.
    init(object value: JSONValue?, _ name: String, required: Bool, _ outer: inout FieldReader) {
        switch value {
        case .object(let members): self.members = members
        case nil, .null:
            if required { outer.fail(name, "is required") }
            members = [:]
        default:
            outer.fail(name, "must be an object")
            members = [:]
        }
    }

    /// What was noted of an object inside.
    mutating func take(_ inner: [APIError.Field], under name: String) {
        // A member is not missing where the whole is.
        guard !errors.contains(where: { $0.field == name }) else { return }
        for error in inner { fail(name + "." + error.field, error.message) }
    }

    /// - Throws: all that was noted.
    func check() throws(APIError) { if !errors.isEmpty { throw APIError.invalid(errors) } }

    mutating func fail(_ field: String, _ message: String) {
        errors.append(.init(field: String(field.prefix(100)), message: message))
    }

    /// A text without the space around it; nil where there is none, or it is bad.
    /// - Parameter mayBeBlank: a blank one is as none, for a program that clears a field so.
    mutating func text(_ name: String, required: Bool, limit: Int, _ rule: TextRule = .line, mayBeBlank: Bool = false)
        -> String?
    {
        switch members[name] {
        case nil, .null:
            if required { fail(name, "is required") }
            return nil
        case .string(let value):
            let trimmed = value.trimmingCharacters(in: .whitespacesAndNewlines)
            if trimmed.isEmpty {
                if required || !mayBeBlank { fail(name, "is blank") }
                return nil
            }
            guard trimmed.count <= limit else {
                fail(name, "is longer than \(limit) characters")
                return nil
            }
            // Behind the last word too: whoever sends a line break in a name did not mean that name.
            if let problem = rule.problem(with: value) {
                fail(name, problem)
                return nil
            }
            return trimmed
        default:
            fail(name, "must be a string")
            return nil
        }
    }

    /// A password: as it is, to the last space.
    mutating func secret(_ name: String, required: Bool, limit: Int) -> String? {
        guard let value = text(name, required: required, limit: limit), case .string(let whole)? = members[name] else {
            return nil
        }
        // Space around it counts too.
        if whole.count > limit { fail(name, "is longer than \(limit) characters") }
        return whole.count > limit ? value : whole
    }

    /// An address that webhooks are posted to.
    mutating func url(_ name: String, _ settings: WebhookSender.Settings) -> String? {
        guard text(name, required: false, limit: WebhookSender.urlLimit) != nil,
            case .string(let whole)? = members[name]
        else { return nil }
        if let problem = WebhookSender.problem(with: whole, settings: settings) { fail(name, problem) }
        return whole
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        switch members[name] {
        case nil, .null: return nil
        case .number(let number):
            guard let integer = number.integer else {
                fail(name, "must be a whole number")
                return nil
            }
            guard range.contains(integer) else {
                fail(name, "must lie in \(range.lowerBound)…\(range.upperBound), not \(integer)")
                return nil
            }
            return integer
        default:
            fail(name, "must be a number")
            return nil
        }
    }

    mutating func boolean(_ name: String) -> Bool? {
        switch members[name] {
        case nil, .null: return nil
        case .bool(let value): return value
        default:
            fail(name, "must be true or false")
            return nil
        }
    }
}
