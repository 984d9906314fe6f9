internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// The tools that place calls and end them. The API's own handlers decide: what holds of `POST /api/outbound` holds
/// here.
struct MCPPlacingTools: Sendable {
    private static let idempotencyKey = Field(
        "idempotency_key", .text(RepeatableRequest.keyLimit), "the same within 24 h gives the first answer again")
    /// The fields of a call that a model may set; all that they allow is said where they are described.
    private static let callFields: Set = [
        "callee_number", "caller_number", "agent", "purpose", "questions", "scheduled_at", "language",
        "variables",
    ]
    /// What a call of the API does not have.
    private static let ownForm = Form("CallTool", [idempotencyKey])
    private static let callID = Field("outbound_id", .text(Field.Kind.wordLimit), required: true, "id of the call")

    let services: Routes.Services
    let calls: CallRoutes

    private func form(_ name: String) -> Form {
        let hasCaller = services.settings.callerNumber != nil
        let fields = CallRequest.form.fields.filter { Self.callFields.contains($0.name) }.map { field in
            var field = field
            if hasCaller, field.name == "caller_number" { field.isRequired = false }
            return field
        }
        return Form(name, fields + Self.ownForm.fields, defaults: CallRequest.form.defaults)
    }

    var placeCall: MCPTool {
        MCPTool(
            name: "place_call", title: "Place a call",
            help: """
                Rings a person's telephone and has an AI agent hold the conversation: it says the purpose and asks the \
                questions. Returns at once with outbound_id; then wait for the end with get_call and wait_seconds. \
                Confirm number and purpose with your user first. With an idempotency_key a repeated request is one call.
                """,
            role: .operator, effect: .calls, arguments: form("place_call"),
            result: Schema.object(
                [
                    "outbound_id": Schema.text, "state": Schema.text, "created_at": Schema.time,
                    "message": Schema.text, "warnings": Schema.list(Schema.text),
                    "warning_details": Schema.list(Schema.any),
                ], required: ["outbound_id", "state"]),
            run: { try await place($0) })
    }

    var checkCall: MCPTool {
        MCPTool(
            name: "check_call", title: "Check a call",
            help: """
                Says of the arguments of place_call what place_call would say of them, without placing a call: every \
                error, warnings, and the first time at which the rules for dialling (calling hours, caps, repeated \
                calls) would let it begin. next_permitted_at is null where they never would; held_by has the rules.
                """,
            role: .operator, effect: .none, arguments: form("check_call"),
            result: Schema.object(
                [
                    "acceptable": Schema.flag, "warnings": Schema.list(Schema.text),
                    "warning_details": Schema.list(Schema.any), "next_permitted_at": Schema.nullable(Schema.time),
                    "held_by": Schema.list(
                        Schema.object(
                            ["rule": Schema.text, "detail": Schema.text, "until": Schema.nullable(Schema.time)],
                            required: ["rule", "detail", "until"])),
                ], required: ["acceptable", "warnings", "next_permitted_at", "held_by"]),
            run: { try await check($0) })
    }

    var endCall: MCPTool {
        MCPTool(
            name: "end_call", title: "End a call",
            help: "Cancels a call that is not connected yet, or hangs up one that is.",
            role: .operator, effect: .ends, arguments: Form("end_call", [Self.callID]),
            result: Schema.object(
                ["outbound_id": Schema.text, "message": Schema.text], required: ["outbound_id", "message"]),
            run: { try await end($0) })
    }

    // MARK: What they do

    private func place(_ call: MCPCall) async throws -> [String: JSONValue] {
        let request = try await request(call)
        do { return try await calls.create(request, call.principal).members } catch let error as APIError {
            throw Self.renamed(error)
        }
    }

    private func check(_ call: MCPCall) async throws -> [String: JSONValue] {
        let request = try await request(call)
        var answer = try await calls.check(request, call.principal).members
        let outlook = try await services.store(call.principal).outlook(
            of: calls.parsed(request, call.principal).call, by: services.settings(call.principal).policy,
            at: services.now())
        answer["acceptable"] = true
        answer["next_permitted_at"] = Payloads.time(outlook.at)
        answer["held_by"] = .array(
            outlook.blocks.map {
                ["rule": .string($0.rule.rawValue), "detail": .string($0.detail), "until": Payloads.time($0.until)]
            })
        return answer
    }

    private func end(_ call: MCPCall) async throws -> [String: JSONValue] {
        let fields = FieldReader(call.arguments, Form("end_call", [Self.callID]))
        try fields.check()
        let request = HTTPRequest(callID: fields.text(Self.callID.name))
        let isConnected = try await calls.one(request, call.principal).members["state"] == "connected"
        // It may be answered, or end, between the two looks at it: then the other way is tried.
        let ways = isConnected ? [calls.hangUp, calls.cancel] : [calls.cancel, calls.hangUp]
        do { return try await ways[0](request, call.principal).members } catch let error as StoreError {
            guard error.code == .conflict else { throw error }
            return try await ways[1](request, call.principal).members
        }
    }

    // MARK: A request of the API

    /// What a client of the API would send for these arguments.
    /// - Throws: what is wrong with those that no call has, and then all that is wrong.
    private func request(_ call: MCPCall) async throws -> HTTPRequest {
        let own = FieldReader(call.arguments.filter { !Self.callFields.contains($0.key) }, Self.ownForm)
        var body = call.arguments.filter { Self.callFields.contains($0.key) }
        if body["caller_number"] ?? .null == .null, let caller = services.settings.callerNumber {
            body["caller_number"] = .string(caller)
        }
        var request = HTTPRequest(method: "POST", path: "/api/outbound", body: JSONValue.object(body).bytes)
        request.headers["idempotency-key"] = own.text(Self.idempotencyKey.name)
        guard !own.errors.isEmpty else { return request }
        var errors = own.errors
        do { _ = try await calls.check(request, call.principal) } catch let error as APIError {
            errors += error.errors
        }
        throw APIError.invalid(errors)
    }

    /// The header field of the API is an argument here.
    private static func renamed(_ error: APIError) -> APIError {
        var error = error
        for index in error.errors.indices where error.errors[index].field == CallRoutes.idempotencyKey.name {
            error.errors[index].field = idempotencyKey.name
        }
        return error
    }
}

extension HTTPRequest {
    /// About one call, as the API's handlers read it.
    init(callID: String?) {
        self.init(method: "POST", path: "/api/outbound")
        parameters["id"] = callID
    }
}
