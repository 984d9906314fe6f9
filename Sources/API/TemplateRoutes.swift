internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Realtime

/// `/api/templates`: purposes and their questions, saved.
struct TemplateRoutes: Sendable {
    private static let nameLimit = 100
    private static let greetingLimit = 500

    static let form = Form(
        "NewTemplate", path: "templates",
        [
            Field("name", .text(nameLimit), required: true, "what it is called"),
            CallRequest.purpose, QuestionFields.field, CallRequest.displayName, CallRequest.language,
            Field(
                "greeting", .text(greetingLimit, .paragraph), mayBeBlank: true, "first words of calls that come in"),
        ], defaults: { ["language": .string($0.language)] }, notes: { ["language": CallRequest.languageNotes($0)] })

    let services: Routes.Services

    private func template(_ request: HTTPRequest, _ principal: Principal) async throws -> CallTemplate {
        let id = request.parameters["id"] ?? ""
        guard let template = try await services.store(principal).template(id) else {
            throw APIError.notFound(.noTemplate)
        }
        return template
    }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(["items": .array(try await services.store(principal).templates().map(Payloads.template))])
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(Payloads.template(try await template(request, principal)))
    }

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let now = services.now()
        let template = try Self.read(
            request, CallTemplate(name: "", purpose: "", questions: [], createdAt: now, updatedAt: now))
        try await services.store(principal).save(template)
        try await services.reloadNumbers()
        await services.audit(principal, "template.create", target: template.id)
        var response = Routes.json(Payloads.template(template), status: 201)
        response.headers.append(("location", "/api/templates/\(template.id)"))
        return response
    }

    func replace(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var template = try Self.read(request, try await template(request, principal))
        template.updatedAt = services.now()
        try await services.store(principal).save(template)
        try await services.reloadNumbers()
        await services.audit(principal, "template.change", target: template.id)
        return Routes.json(Payloads.template(template))
    }

    func remove(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let id = request.parameters["id"] ?? ""
        try await services.store(principal).removeTemplate(id)
        try await services.reloadNumbers()
        await services.audit(principal, "template.delete", target: id)
        return HTTPResponse(status: 204)
    }

    private static func read(_ request: HTTPRequest, _ old: CallTemplate) throws -> CallTemplate {
        var template = old
        var fields = try FieldReader(request.body, form)
        template.questions = QuestionFields.questions(&fields)
        try fields.check()
        template.name = fields.text("name") ?? ""
        template.purpose = fields.text("purpose") ?? ""
        template.callerDisplayName = fields.text("caller_display_name") ?? ""
        template.language = fields.text("language")
        template.greeting = fields.text("greeting")
        return template
    }
}
