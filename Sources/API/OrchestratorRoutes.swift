internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Realtime
internal import Store

/// The two routes of the older orchestrator, kept for its clients (docs/api.md).
struct OrchestratorRoutes: Sendable {
    /// Pairs of one request, and characters of an answer.
    private static let pairLimit = 100
    private static let answerLimit = 4_000
    private static let nameLimit = 100

    static let form = Form(
        "Received",
        [
            Field(
                "user",
                .object(
                    [
                        Field("name", .text(nameLimit), mayBeBlank: true, "who is called"),
                        Field(
                            "phone", .text(Field.Kind.addressLimit), required: true,
                            "the user's number or `sip:` address"),
                    ], others: true), required: true, "who is dialled"),
            Field("vulnerability", .free, "what the call is about: its texts"),
            Field(
                "questions",
                .list(
                    .object([
                        Field(
                            "question", .text(QuestionFields.textLimit, .paragraph), required: true,
                            "what is known or asked"),
                        Field("answer", .text(answerLimit, .paragraph), mayBeBlank: true, "what is known of it"),
                    ]), count: 0...pairLimit), "what has an answer is known, what has none is asked"),
        ])
    static let resultForm = Form(
        "ResultRequest",
        [
            Field("outbound_id", .text(Field.Kind.wordLimit), "the call; or call_id"),
            Field("call_id", .text(callIDLimit), "our SIP Call-ID"),
        ])
    private static let callIDLimit = 256

    let services: Routes.Services

    /// `{user: {name, phone, …}, vulnerability: {…}, questions: [{question, answer?}]}`: dials the user. What has an
    /// answer is what the AI knows; what has none is asked.
    func receive(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, Self.form)
        let user = fields.values.object("user") ?? [:]
        let (name, phone) = (user.text("name"), user.text("phone"))
        let about = Self.about(fields.values.free("vulnerability") ?? [:])
        let (facts, questions) = Self.pairs(&fields)
        if let phone {
            do throws(Routing.Refusal) { _ = try services.settings.routing.route(toSomebody: phone) } catch {
                fields.fail("user.phone", error.problem)
            }
        }
        guard let caller = services.settings(principal).callerNumber else {
            throw APIError.conflict(.noCallerNumber)
        }
        try fields.check()
        guard let phone else { throw APIError.invalid(fields.errors) }
        let purpose =
            name.map { "Speak with \($0)\(about.isEmpty ? "." : " about this: " + about)" }
            ?? (about.isEmpty ? "Help as far as you can." : about)
        var kept: [String: JSONValue] = [:]
        for member in ["user", "vulnerability"] { kept[member] = fields.sent(member) }
        let metadata = JSONValue.object(kept).text
        guard metadata.utf8.count <= CallRequest.metadataLimit else {
            throw APIError.invalid(
                "vulnerability", .tooLargeTogether,
                ["field": "user", "limit": .number(CallRequest.metadataLimit)])
        }
        let now = services.now()
        let settings = services.settings(principal)
        var call = Call(
            localNumber: caller, remoteNumber: phone,
            brief: Brief(
                purpose: String(purpose.prefix(CallRequest.purposeLimit)), questions: questions,
                language: settings.language,
                maxTurns: settings.maxTurns,
                greetingTemplate: settings.greetingTemplate, closingTemplate: settings.closingTemplate, facts: facts),
            maxDuration: settings.maxCallDuration, maxRetries: settings.retry.maxRetries, metadata: metadata,
            requestedBy: principal.name,
            createdAt: now)
        call.company = principal.company
        let audit = services.entry(principal, "call.create", target: call.id)
        switch try await services.dialler.create(call, audit: audit) {
        case .blocked(let rule, let problem):
            await services.audit(principal, "dial.blocked", detail: rule.rawValue)
            throw APIError.blocked(by: rule, problem, field: "user.phone")
        case .overQuota(let use): throw APIError.overQuota(use, at: now)
        case .stored, .known, .keyIsTaken: break
        }
        await services.auditHome(principal, "call.create", target: call.id)
        return Routes.json(
            [
                "outbound_id": .string(call.id), "state": "queued", "created_at": Payloads.time(now),
                "message": "the call is queued",
            ],
            status: 202)
    }

    /// The texts of the object, one after the other: its members are the sender's own.
    private static func about(_ topic: [String: JSONValue]) -> String {
        topic.sorted { $0.key < $1.key }.compactMap { member in
            guard case .string(let text) = member.value else { return nil }
            let trimmed = TextRule.plain(text).trimmingCharacters(in: .whitespacesAndNewlines)
            return trimmed.isEmpty ? nil : trimmed
        }.joined(separator: ". ")
    }

    private static func pairs(_ fields: inout FieldReader) -> (facts: [Brief.Fact], questions: [Question]) {
        var facts: [Brief.Fact] = [], questions: [Question] = []
        for item in fields.list("questions") ?? [] {
            guard case .object(let pair)? = item, let question = pair.text("question") else { continue }
            if let answer = pair.text("answer") {
                facts.append(Brief.Fact(question: question, answer: answer))
            } else {
                questions.append(Question(id: "q\(questions.count + 1)", text: question))
            }
        }
        let limit = QuestionFields.countRange.upperBound
        if questions.count > limit { fields.fail("questions", .tooManyOpenItems, ["limit": .number(limit)]) }
        return (facts, questions)
    }

    /// Of our own Call-IDs, `outbound-{outbound_id}-{8 hex}`.
    private static func id(in callID: String) -> String? {
        let parts = callID.split(separator: "-")
        return parts.count == 4 && parts[0] == "outbound" ? parts[1] + "-" + parts[2] : nil
    }

    /// `{outbound_id}` or `{call_id}`: posts a call's result to `result_callback_url` again.
    func sendResult(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, Self.resultForm)
        let (given, callID) = (fields.text("outbound_id"), fields.text("call_id"))
        if given == nil, callID == nil, fields.errors.isEmpty {
            fields.fail("outbound_id", .requiredUnless, ["field": "call_id"])
        }
        if given != nil { fields.exclude(["call_id"], beside: ["outbound_id"]) }
        try fields.check()
        guard let analyst = services.analyst else { throw APIError.conflict(.noCallbackUrl) }
        var id = given
        if id == nil, let callID { id = Self.id(in: callID) }
        guard let id, try await services.store(principal).call(id) != nil else { throw APIError.notFound(.noCall) }
        try await analyst.postBack(id)
        services.wakeWebhooks()
        await services.audit(principal, "result.resend", target: id)
        return Routes.json(["outbound_id": .string(id), "message": "the result will be posted again"], status: 202)
    }
}
