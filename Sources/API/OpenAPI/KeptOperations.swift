extension OpenAPI {
    /// Templates, operators, numbers and knowledge.
    static let kept: [String: Operation] = [
        "GET /api/templates": Operation(
            summary: "Saved purposes and questions.", tag: "templates",
            answer: Schema.page(Schema.reference("Template")), problems: [503]),
        "POST /api/templates": Operation(
            summary: "Saves one.", tag: "templates", body: TemplateRoutes.form, status: 201,
            answer: Schema.reference("Template"),
            problems: [400, 409, 422, 503, 507]),
        "GET /api/templates/{id}": Operation(
            summary: "One template.", tag: "templates", answer: Schema.reference("Template"), problems: [404, 503]),
        "PUT /api/templates/{id}": Operation(
            summary: "Replaces it.", tag: "templates", body: TemplateRoutes.form,
            answer: Schema.reference("Template"),
            problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/templates/{id}": Operation(
            summary: "Deletes it.", tag: "templates", status: 204, answer: nil, problems: [404, 503]),
        "GET /api/do-not-call": Operation(
            summary: "Who must not be called.", tag: "numbers",
            query: ListQuery.numbers,
            answer: Schema.page(Schema.any, more: ["total": Schema.count]), problems: [422, 503]),
        "POST /api/do-not-call": Operation(
            summary: "Adds numbers, all or none.", tag: "numbers",
            body: NumberRoutes.doNotCallForm, status: 201,
            answer: Schema.object(["added": Schema.count, "known": Schema.count], required: ["added", "known"]),
            problems: [400, 409, 422, 503, 507]),
        "DELETE /api/do-not-call/{number}": Operation(
            summary: "Takes a number off.", tag: "numbers", status: 204, answer: nil, problems: [404, 503]),
        "GET /api/numbers": Operation(
            summary: "Numbers of ours that may be shown.", tag: "numbers",
            query: ListQuery.numbers,
            answer: Schema.page(Schema.any, more: ["total": Schema.count]), problems: [422, 503]),
        "POST /api/numbers": Operation(
            summary: "Adds one.", tag: "numbers",
            body: NumberRoutes.form, status: 201, problems: [400, 409, 422, 503, 507]),
        "DELETE /api/numbers/{number}": Operation(
            summary: "Takes it off.", tag: "numbers", status: 204, answer: nil, problems: [404, 503]),
        "GET /api/operators": Operation(
            summary: "Who answers calls, and whether their phones are there.", tag: "operators",
            answer: Schema.page(Schema.reference("Operator")),
            problems: [503]),
        "POST /api/operators": Operation(
            summary: "Adds one.", tag: "operators", body: OperatorRoutes.form, status: 201,
            answer: Schema.reference("Operator"),
            problems: [400, 409, 422, 503, 507]),
        "GET /api/operators/{id}": Operation(
            summary: "One operator.", tag: "operators", answer: Schema.reference("Operator"), problems: [404, 503]),
        "PUT /api/operators/{id}": Operation(
            summary: "Replaces what is known of him; without sip_password his stays.", tag: "operators",
            body: OperatorRoutes.form,
            answer: Schema.reference("Operator"), problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/operators/{id}": Operation(
            summary: "Removes him.", tag: "operators", status: 204, answer: nil, problems: [404, 503]),
        "PUT /api/operators/{id}/status": Operation(
            summary: "Whether he takes calls now.", tag: "operators",
            body: OperatorRoutes.statusForm, answer: Schema.reference("Operator"),
            problems: [400, 404, 422, 503]),
        "GET /api/knowledge": Operation(
            summary: "What the AI answers from.", tag: "knowledge", query: KnowledgeRoutes.query,
            answer: Schema.page(Schema.any), problems: [404, 422, 503]),
        "GET /api/knowledge/sets": Operation(
            summary: "The sets of it, by name.", tag: "knowledge",
            answer: Schema.page(
                Schema.object(["name": Schema.text, "items": Schema.count], required: ["name", "items"])),
            problems: [404, 503]),
        "POST /api/knowledge": Operation(
            summary: "Adds a pair or a document.", tag: "knowledge",
            body: KnowledgeRoutes.form, status: 201, problems: [400, 404, 409, 422, 503, 507]),
        "DELETE /api/knowledge/{id}": Operation(
            summary: "Deletes it.", tag: "knowledge", status: 204, answer: nil, problems: [404, 503]),
        "POST /api/knowledge/search": Operation(
            summary: "What it would find.", tag: "knowledge", body: KnowledgeRoutes.searchForm,
            answer: Schema.page(Schema.any),
            problems: [400, 404, 422, 503]),
    ]
}
