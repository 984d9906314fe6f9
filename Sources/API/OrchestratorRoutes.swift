internal import Calls
internal import Foundation
internal import Net
internal import Realtime
internal import Store

/// The two routes of the older orchestrator, kept for its clients (docs/api.md).
struct OrchestratorRoutes: Sendable {
    /// Pairs of one request, and characters of an answer.
    static let pairLimit = 100
    static let answerLimit = 4_000
    static let nameLimit = 100

    let services: Routes.Services

    /// `{user: {name, phone, …}, vulnerability: {…}, questions: [{question, answer?}]}`: dials the user. What has an
    /// answer is what the AI knows; what has none is asked.
    func receive(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(body: request.body, known: ["user", "vulnerability", "questions"])
        var user = FieldReader(object: fields.members["user"], "user", required: true, &fields)
        let name = user.text("name", required: false, limit: Self.nameLimit, mayBeBlank: true)
        let phone = user.text("phone", required: true, limit: 256)
        fields.take(user.errors, under: "user")
        let about = Self.about(
            FieldReader(object: fields.members["vulnerability"], "vulnerability", required: false, &fields).members)
        let (facts, questions) = Self.pairs(&fields)
        if let phone {
            do throws(Routing.Refusal) { _ = try services.settings.routing.route(toSomebody: phone) } catch {
                fields.fail("user.phone", error.message)
            }
        }
        guard let caller = services.settings.callerNumber else {
            throw APIError.conflict("outbound.caller_number is not set: it is the number shown for calls of this route")
        }
        try fields.check()
        guard let phone else { throw APIError.invalid(fields.errors) }
        let purpose =
            name.map { "Speak with \($0)\(about.isEmpty ? "." : " about this: " + about)" }
            ?? (about.isEmpty ? "Help as far as you can." : about)
        var kept: [String: JSONValue] = [:]
        for member in ["user", "vulnerability"] { kept[member] = fields.members[member] }
        let metadata = JSONValue.object(kept).text
        guard metadata.utf8.count <= CallRequest.metadataLimit else {
            throw APIError.invalid([
                .init(field: "vulnerability", message: "with user is larger than \(CallRequest.metadataLimit) bytes")
            ])
        }
        let now = services.now()
        let settings = services.settings
        let call = Call(
            localNumber: caller, remoteNumber: phone,
            brief: Brief(
                purpose: String(purpose.prefix(CallRequest.purposeLimit)), questions: questions,
                language: settings.language,
                maxTurns: settings.maxTurns,
                greetingTemplate: settings.greetingTemplate, closingTemplate: settings.closingTemplate, facts: facts),
            maxDuration: settings.maxCallDuration, maxRetries: settings.retry.maxRetries, metadata: metadata,
            requestedBy: principal.name,
            createdAt: now)
        let audit = AuditEntry(at: now, actor: principal.name, action: "call.create", target: call.id)
        if case .blocked(let rule, let detail) = try await services.dialler.create(call, audit: audit) {
            await services.audit(principal, "dial.blocked", detail: rule.rawValue)
            throw APIError.blocked(by: rule, detail, field: "user.phone")
        }
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
        guard case .array(let items)? = fields.members["questions"] else {
            if let given = fields.members["questions"], given != .null { fields.fail("questions", "must be an array") }
            return ([], [])
        }
        if items.count > pairLimit { fields.fail("questions", "has more than \(pairLimit) items") }
        for (index, item) in items.prefix(pairLimit).enumerated() {
            let place = "questions[\(index)]"
            var pair = FieldReader(object: item, place, required: true, &fields)
            let question = pair.text("question", required: true, limit: CallRequest.questionLimit, .paragraph)
            let answer = pair.text("answer", required: false, limit: answerLimit, .paragraph, mayBeBlank: true)
            for key in pair.members.keys.sorted() where !["question", "answer"].contains(key) {
                pair.fail(key, "is not a known field")
            }
            fields.take(pair.errors, under: place)
            guard let question else { continue }
            if let answer {
                facts.append(Brief.Fact(question: question, answer: answer))
            } else {
                questions.append(Question(id: "q\(questions.count + 1)", text: question))
            }
        }
        if questions.count > CallRequest.questionCount.upperBound {
            fields.fail("questions", "has more than \(CallRequest.questionCount.upperBound) items without an answer")
        }
        return (facts, questions)
    }

    /// Of our own Call-IDs, `outbound-{outbound_id}-{8 hex}`.
    private static func id(in callID: String) -> String? {
        let parts = callID.split(separator: "-")
        return parts.count == 4 && parts[0] == "outbound" ? parts[1] + "-" + parts[2] : nil
    }

    /// `{outbound_id}` or `{call_id}`: posts a call's result to `result_callback_url` again.
    func sendResult(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(body: request.body, known: ["outbound_id", "call_id"])
        let given = fields.text("outbound_id", required: false, limit: 64)
        let callID = fields.text("call_id", required: false, limit: 256)
        if (given == nil) == (callID == nil) { fields.fail("outbound_id", "or call_id is required, one of them") }
        try fields.check()
        guard let analyst = services.analyst else { throw APIError.conflict("result_callback_url is not set") }
        var id = given
        if id == nil, let callID { id = Self.id(in: callID) }
        guard let id else { throw APIError.notFound("there is no such call") }
        try await analyst.postBack(id)
        services.wakeWebhooks()
        await services.audit(principal, "result.resend", target: id)
        return Routes.json(["outbound_id": .string(id), "message": "the result will be posted again"], status: 202)
    }
}
