internal import Calls
internal import JSON
internal import Net
internal import Problems
internal import Realtime
internal import Store

extension CallRoutes {
    /// Characters of an answer given by hand.
    private static let answerLimit = 2_000
    private static let statuses: [Answer.Status] = [.answered, .unclear, .refused, .notAsked]
    static let correctionForm = Form(
        "Correction",
        [
            Field("status", .choice(statuses.map(\.rawValue)), default: "answered", "what became of the question"),
            Field("answer_text", .text(answerLimit, .paragraph), mayBeBlank: true, "the other party's own words"),
            Field("answer_summary", .text(answerLimit, .paragraph), mayBeBlank: true, "the answer in short"),
            Field("value", .scalar(answerLimit), "the answer in the question's type"),
        ])

    /// `POST …/answers/{qid}`: an answer given by hand; who and when is kept, and what it was before.
    func correct(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request, principal)
        let id = request.parameters["qid"] ?? ""
        guard let question = call.brief.questions.first(where: { $0.id == id }) else {
            throw APIError.notFound(.noQuestion, ["id": .text(id)])
        }
        guard call.state.isTerminal else { throw APIError.conflict(.correctedTooEarly) }
        var fields = try FieldReader(request.body, Self.correctionForm)
        let status = fields.choice("status", as: Answer.Status.self) ?? .answered
        let (text, summary) = (fields.text("answer_text"), fields.text("answer_summary"))
        let value = fields.values["value"].flatMap { Answer.Value($0) }
        switch (value, question.kind) {
        case (nil, _), (.boolean, .boolean), (.number, .number), (_, .text), (.text, .date): break
        case (.text(let given), .choice):
            if !question.choices.contains(given) { fields.fail("value", .notQuestionChoice) }
        default: fields.fail("value", .notOfType, ["type": .text(question.kind.rawValue)])
        }
        if status == .answered, text == nil, summary == nil, value == nil, !fields.hasFailed("value") {
            fields.fail("value", .requiredAnswer)
        }
        try fields.check()
        let corrected = (status: status, text: text, summary: summary, value: value)
        let at = services.now()
        let changed = try await services.store(principal).update(call.id) { call in
            try call.correct(id, by: principal.name, at: at) { answer in
                answer.status = corrected.status
                answer.text = corrected.text ?? (corrected.status == .answered ? answer.text : nil)
                answer.summary = corrected.summary
                answer.value = corrected.value
                answer.confidence = nil
                answer.confidenceSource = "human"
            }
            return [call.correctedEvent(at: at)]
        }
        await services.audit(principal, "answer.correct", target: call.id, detail: id)
        return Routes.json(Payloads.result(changed, transcript: nil, now: at))
    }
}
