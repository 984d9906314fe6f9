internal import JSON

extension OpenAPI {
    /// Companies: for admins of `default`; a path that there is not for everybody else.
    static let companies: [String: Operation] = [
        "GET /api/companies": Operation(
            summary: "Whom the installation serves.", tag: "companies",
            answer: Schema.page(Schema.reference("Company")), problems: [404]),
        "POST /api/companies": Operation(
            summary: "Adds one; its webhook_secret is told this once.", tag: "companies", body: CompanyRoutes.form,
            status: 201, answer: Schema.reference("Company"), problems: [400, 404, 409, 503, 507]),
        "GET /api/companies/{slug}": Operation(
            summary: "One company.", tag: "companies", answer: Schema.reference("Company"), problems: [404]),
        "PATCH /api/companies/{slug}": Operation(
            summary: "Changes what is given; null takes a value away.", tag: "companies",
            body: CompanyRoutes.changeForm, answer: Schema.reference("Company"), problems: [400, 404, 409, 503, 507]),
        "DELETE /api/companies/{slug}": Operation(
            summary: "Erases a suspended company with all that is its.", tag: "companies", status: 204, answer: nil,
            problems: [404, 409, 503]),
        "GET /api/companies/{slug}/usage": Operation(
            summary: "What it has used in a month.", tag: "companies", query: ListQuery.usage,
            answer: Schema.object(
                [
                    "slug": Schema.text, "month": Schema.text, "calls": Schema.count,
                    "minutes": ["type": "number", "minimum": 0], "storage_bytes": Schema.count,
                    "components": Schema.list(Schema.any),
                    "cost": Schema.list(Schema.any),
                ], required: ["slug", "month", "calls", "minutes", "components", "cost"]),
            problems: [404, 503]),
    ]

    static let company = Schema.object(
        [
            "slug": Schema.text, "name": Schema.text, "state": Schema.choice(["active", "suspended"]),
            "is_configured": Schema.flag, "quotas": Schema.any, "webhook_url": Schema.nullable(Schema.text),
            "webhook_secret": Schema.text, "retention_days": Schema.nullable(Schema.count),
            "allowed_callers": Schema.list(Schema.text), "time_zone": Schema.nullable(Schema.text),
            "created_at": Schema.nullable(Schema.time),
        ], required: ["slug", "name", "state", "quotas"])
}
