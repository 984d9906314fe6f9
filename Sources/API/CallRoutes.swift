internal import Bridge
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Pipeline
internal import Problems
internal import Realtime
internal import Store

/// `/api/outbound/…`
struct CallRoutes: Sendable {
    /// Characters of what an operator has said.
    private static let sayLimit = 500
    private static let idLimit = 20

    static let sayForm = Form(
        "Say", [Field("text", .text(sayLimit, .paragraph), required: true, "what is said, at once")])
    static let transferForm = Form(
        "Transfer",
        [
            Field("operator_id", .text(idLimit), "who gets the call; without this and to: any free operator"),
            Field("to", .text(Field.Kind.addressLimit), "number or `sip:` address that gets it"),
            Field(
                "mode", .choice(CallSettings.TransferMode.allCases.map(\.rawValue)), "how it is handed over"),
        ])
    static let idempotencyKey = Field(
        "Idempotency-Key", .text(RepeatableRequest.keyLimit), "the same within 24 h gives the first answer again")

    let services: Routes.Services
    /// Of the calls that are served: `/api/outbound/…` or `/api/inbound/…`.
    var direction = CallDirection.outbound

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let type = request.headers["content-type"] ?? "application/json"
        guard type.lowercased().hasPrefix("application/json") else {
            throw APIError(415, "unsupported_media_type", .contentNotJson)
        }
        let parsed: CallRequest
        do throws(APIError) { parsed = try self.parsed(request, principal) } catch {
            if let rule = DialRule(rawValue: error.code) {
                await services.audit(principal, "dial.blocked", detail: rule.rawValue)
            }
            throw error
        }
        if let refusal = parsed.notAllowed, try await !services.store.numbers.isCallerNumber(parsed.call.localNumber) {
            await services.audit(principal, "dial.blocked", detail: refusal.code.rawValue)
            throw APIError(
                403, refusal.code.rawValue, refusal.problem,
                errors: [.init(field: "caller_number", problem: refusal.problem)])
        }
        var answer: [String: JSONValue] = [
            "outbound_id": .string(parsed.call.id), "state": .string(parsed.call.state.rawValue),
            "created_at": Payloads.time(parsed.call.createdAt), "message": "the call is queued",
        ]
        if !parsed.warnings.isEmpty { answer.merge(Self.warnings(parsed)) { $1 } }
        let text = JSONValue.object(answer).text
        let audit = AuditEntry(
            at: services.now(), actor: principal.name, action: "call.create", target: parsed.call.id)
        switch try await services.dialler.create(
            parsed.call, request: try repeatable(request, principal, answer: text), audit: audit)
        {
        case .stored: return Self.accepted(text, id: parsed.call.id)
        case .known(let answer): return Self.accepted(answer, id: Self.callID(in: answer))
        case .keyIsTaken:
            throw APIError(
                422, "idempotency_key_reused", Problem(.idempotencyKeyTaken),
                errors: [.init(field: Self.idempotencyKey.name, problem: Problem(.sentWithAnotherRequest))])
        case .blocked(let rule, let problem):
            await services.audit(principal, "dial.blocked", detail: rule.rawValue)
            throw APIError.blocked(by: rule, problem, field: "callee_number")
        }
    }

    private func parsed(_ request: HTTPRequest, _ principal: Principal) throws(APIError) -> CallRequest {
        try CallRequest(
            request.body, settings: services.settings, webhooks: services.webhooks, requestedBy: principal.name,
            now: services.now())
    }

    /// `POST …/check`: what `POST …` would say of a request's members; nothing is stored.
    func check(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let parsed = try parsed(request, principal)
        if let refusal = parsed.notAllowed, try await !services.store.numbers.isCallerNumber(parsed.call.localNumber) {
            throw APIError.invalid([.init(field: "caller_number", problem: refusal.problem)])
        }
        try await checkList(parsed.call.remoteNumber, field: "callee_number")
        return Routes.json(.object(Self.warnings(parsed)))
    }

    /// As texts, and with their codes.
    private static func warnings(_ parsed: CallRequest) -> [String: JSONValue] {
        [
            "warnings": .array(parsed.warnings.map { .string($0.message) }),
            "warning_details": .array(parsed.warnings.map { .object($0.json) }),
        ]
    }

    /// A number on the do-not-call list is never rung, for no principal.
    private func checkList(_ callee: String, field: String) async throws {
        guard try await services.store.numbers.isOnDoNotCallList(callee) else { return }
        throw APIError.blocked(by: .doNotCall, Problem(.onDoNotCallList), field: field)
    }

    private static func accepted(_ answer: String, id: String?) -> HTTPResponse {
        var response = HTTPResponse(status: 202, contentType: "application/json", Array(answer.utf8))
        if let id { response.headers.append(("location", "/api/outbound/\(id)")) }
        return response
    }

    /// The call that an answer of ours was about.
    private static func callID(in answer: String) -> String? {
        guard case .object(let members)? = try? JSONValue(parsing: Array(answer.utf8)),
            case .string(let id)? = members["outbound_id"]
        else {
            return nil
        }
        return id
    }

    private func repeatable(_ request: HTTPRequest, _ principal: Principal, answer: String) throws -> RepeatableRequest?
    {
        guard let key = request.headers["idempotency-key"]?.trimmingCharacters(in: .whitespaces) else { return nil }
        guard (1...RepeatableRequest.keyLimit).contains(key.utf8.count) else {
            throw APIError.invalid(
                Self.idempotencyKey.name, .lengthNotInRange,
                ["least": 1, "most": .number(RepeatableRequest.keyLimit)])
        }
        // The same request however its members are ordered or spaced.
        let body = (try? JSONValue(parsing: request.body).text) ?? ""
        return RepeatableRequest(
            key: "\(principal.name) \(key)", request: Authenticator.hash(body), answer: answer)
    }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let page = try await services.store.page(try filter(request.query))
        let now = services.now()
        return Routes.json([
            "items": .array(page.items.map { Payloads.call($0, isMasked: true, now: now) }),
            "next_cursor": .cursor(page.nextCursor, of: direction == .inbound ? .inbound : .outbound),
            "total": .number(Double(page.total)),
            "total_is_capped": .bool(page.isTotalCapped),
        ])
    }

    /// The list's parameters, all bad ones found.
    private func filter(_ query: [(name: String, value: String)]) throws(APIError) -> CallFilter {
        var query = QueryReader(query, ListQuery.calls, reserved: ["campaign_id"])
        var filter = CallFilter()
        filter.direction = direction
        filter.state = query.choice("state", as: CallState.self)
        filter.carrier = query.text("carrier")
        filter.dialect = query.text("dialect")
        filter.search = query.text("q")
        filter.from = query.time("from")
        filter.to = query.time("to")
        filter.limit = query.integer("limit") ?? filter.limit
        filter.cursor = query.cursor(of: direction == .inbound ? .inbound : .outbound)
        try query.check()
        return filter
    }

    func active(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let active = try await services.store.active(try activeFilter(request.query))
        let now = services.now()
        let states = ActiveFilter.states.map { ($0.rawValue, JSONValue.number(Double(active.states[$0] ?? 0))) }
        return Routes.json([
            "items": .array(active.page.items.map { Payloads.call($0, isMasked: true, now: now) }),
            "next_cursor": .cursor(
                active.page.nextCursor, of: direction == .inbound ? .activeInbound : .activeOutbound),
            "total": .number(Double(active.page.total)), "states": .object(Dictionary(uniqueKeysWithValues: states)),
        ])
    }

    /// As of the list; `state` may name several, with commas between them.
    private func activeFilter(_ query: [(name: String, value: String)]) throws(APIError) -> ActiveFilter {
        var query = QueryReader(query, ListQuery.active)
        var filter = ActiveFilter()
        filter.direction = direction
        if let text = query.text("state") {
            let states = text.split(separator: ",", omittingEmptySubsequences: false).map {
                CallState(rawValue: String($0))
            }
            if states.allSatisfy({ $0.map(ActiveFilter.states.contains) ?? false }) {
                let named = states.compactMap(\.self)
                filter.states = ActiveFilter.states.filter(named.contains)
            } else {
                query.fail("state", .notLiveState)
            }
        }
        filter.limit = query.integer("limit") ?? filter.limit
        filter.cursor = query.cursor(of: direction == .inbound ? .activeInbound : .activeOutbound)
        try query.check()
        return filter
    }

    func statistics(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(Payloads.statistics(try await services.store.statistics()))
    }

    private var idName: String { direction.idName }

    func call(of request: HTTPRequest) async throws -> Call {
        let id = request.parameters["id"] ?? ""
        // Two guards, not one with two conditions: the release build of Swift 6.3.1 crashes on that (LLVM's CoroSplit).
        guard CallDirection(id: id) == direction else { throw APIError.notFound(.noCall) }
        guard let call = try await services.store.call(id) else { throw APIError.notFound(.noCall) }
        return call
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        guard case .object(var members) = Payloads.call(call, isMasked: false, now: services.now()) else {
            throw APIError.notFound(.noCall)
        }
        if let edges = await services.dialler.graph(of: call.id)?.edges {
            members["queues"] = .array(
                edges.map {
                    [
                        "name": .string($0.name), "depth": .number(Double($0.depth)),
                        "peak": .number(Double($0.peakDepth)),
                        "limit": .number(Double($0.limit)), "oldest_ms": .number(Double($0.oldestMs)),
                        "dropped": .number(Double($0.dropped)),
                    ]
                })
        }
        return Routes.json(.object(members))
    }

    /// The call's stages and queues: as they are now, or the final figures.
    func graph(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let live = await services.dialler.graph(of: call.id)
        let stored = call.graph.flatMap { try? JSONDecoder().decode(GraphReading.self, from: Data($0.utf8)) }
        // Connected, and its conversation is about to begin, or was held elsewhere.
        let empty = call.answeredAt == nil ? nil : GraphReading()
        guard let reading = live ?? stored ?? empty else {
            throw APIError.notFound(.noGraph)
        }
        return Routes.json(Payloads.graph(reading, isLive: live != nil, [idName: .string(call.id)]))
    }

    func result(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let transcript = try await services.store.transcript(of: call.id)
        return Routes.json(Payloads.result(call, transcript: transcript, now: services.now()))
    }

    func transcript(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let transcript = try await services.store.transcript(of: call.id)
        return Routes.json([idName: .string(call.id), "transcript": .array(transcript.map(Payloads.entry))])
    }

    /// The calls of the agent's tools.
    func tools(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        return Routes.json([
            idName: .string(call.id), "tool_calls": .array((call.toolCalls ?? []).map(Payloads.toolCall)),
        ])
    }

    func recording(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        guard let name = call.recording,
            let source = services.store.recording(name, in: services.settings.recordingsFolder)
        else { throw APIError.notFound(.noRecording) }
        return HTTPResponse.source(source, contentType: "audio/wav", request: request)
    }

    func events(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let events = try await services.store.events(after: 0, of: call.id)
        return HTTPResponse(
            status: 200, contentType: "application/json",
            Array(("{\"items\":[" + events.map(\.envelope).joined(separator: ",") + "]}").utf8))
    }

    /// `GET …/sip`: the call's SIP messages, oldest first, without secrets, and a ladder of them.
    func sip(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        var messages = try await services.store.trace(of: call.id)
        let last = messages.last?.at ?? .distantPast
        messages += services.liveTrace(call.id, call.providerCallID ?? "").filter { $0.at > last }
        return Routes.json([
            idName: .string(call.id),
            "items": .array(
                messages.map {
                    [
                        "at": Payloads.time($0.at), "direction": .string($0.isSent ? "sent" : "received"),
                        "peer": .string($0.peer),
                        "summary": .string($0.summary), "text": .string($0.text),
                    ]
                }), "ladder": .string(SIPTrace.ladder(messages)),
        ])
    }

    func cancel(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        try await services.dialler.cancel(call.id)
        await services.audit(principal, "call.cancel", target: call.id)
        return Routes.json(
            ["outbound_id": .string(call.id), "message": "the call is being cancelled"], status: 202)
    }

    func retry(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let queued = try await services.dialler.retry(call.id)
        await services.audit(principal, "call.retry", target: call.id)
        return Routes.json(
            [
                "outbound_id": .string(queued.id), "state": .string(queued.state.rawValue),
                "message": "the call is queued again",
            ],
            status: 202)
    }

    func hangUp(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        try await services.dialler.hangUp(call.id)
        await services.audit(principal, "call.hangup", target: call.id)
        return Routes.json([idName: .string(call.id), "message": "the call is being hung up"], status: 202)
    }

    /// `DELETE …/{id}`: an ended call, with all that is kept of it.
    func erase(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        guard call.state.isTerminal else {
            throw APIError.conflict(.cannotErase, ["state": .text(call.state.rawValue)])
        }
        _ = try await services.store.erase([call.id], recordings: services.settings.recordingsFolder)
        await services.audit(principal, "call.erase", target: call.id)
        return HTTPResponse(status: 204)
    }

    /// `POST …/say`: `{"text"}` is spoken to the callee, now.
    func say(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let fields = try FieldReader(request.body, Self.sayForm)
        try fields.check()
        try await services.dialler.say(fields.text("text") ?? "", in: call.id)
        await services.audit(principal, "call.say", target: call.id)
        return Routes.json([idName: .string(call.id), "message": "it is being said"], status: 202)
    }

    /// `POST …/transfer`: `{"operator_id"?, "to"?, "mode"?}`; the other party is told, and transferred.
    func transfer(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        var fields = try FieldReader(request.body, Self.transferForm)
        let (id, number) = (fields.text("operator_id"), fields.text("to"))
        let mode = fields.choice("mode", as: CallSettings.TransferMode.self)
        if id != nil, number != nil { fields.exclude(["to"], beside: ["operator_id"]) }
        if let id, services.operators.with(id: id) == nil { fields.fail("operator_id", .unknownOperator) }
        if let number {
            do { _ = try services.settings.routing.route(toSomebody: number) } catch {
                fields.fail("to", error.problem)
            }
        }
        try fields.check()
        if let number { try await checkList(number, field: "to") }
        let choice: TransferChoice = id.map { .operator(id: $0) } ?? number.map { .number($0) } ?? .anyOperator
        guard mode == .blind || services.dialler.canHand(to: choice) || services.settings.operatorNumber != nil else {
            throw APIError.conflict(id == nil ? .noOperatorFree : .operatorNotFree)
        }
        try await services.dialler.transfer(call.id, to: choice, mode: mode)
        await services.audit(principal, "call.transfer", target: call.id)
        return Routes.json([idName: .string(call.id), "message": "the call is being handed over"], status: 202)
    }

    /// `POST …/browser`: a one-time token with which a page of the requesting user connects microphone and speaker, to
    /// answer a call that rings for this user or to take over one in progress.
    func browser(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        guard call.state == .connected || services.dialler.rings(call.id, inBrowserOf: principal.name) else {
            throw call.isForBrowser && !call.state.isTerminal
                ? APIError.conflict(.doesNotRingHere)
                : APIError.conflict(.cannotJoin, ["state": .text(call.state.rawValue)])
        }
        let token = services.tickets.issue(.init(user: principal.name, callID: call.id))
        await services.audit(
            principal, call.state == .connected ? "call.take_over" : "call.answer", target: call.id)
        return Routes.json(
            [
                idName: .string(call.id), "url": .string(StreamServer.browserPath), "token": .string(token),
                "expires_in": .number(Double(StreamTickets.lifetimeMs / 1_000)),
            ], status: 201)
    }
}
