internal import Calls
internal import Foundation
internal import Net
internal import Pipeline

/// `/api/outbound/…`
struct CallRoutes: Sendable {
    let services: Routes.Services

    func create(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let type = request.headers["content-type"] ?? "application/json"
        guard type.lowercased().hasPrefix("application/json") else {
            throw APIError(
                status: 415, code: "unsupported_media_type", title: "Unsupported Media Type", detail: "send application/json")
        }
        // Taken and ignored it would let a client believe that a repeated request dials once.
        guard request.headers["idempotency-key"] == nil else {
            throw APIError(
                status: 422, code: "not_supported_yet", title: "Unprocessable Content", detail: "Idempotency-Key is not supported yet",
                errors: [.init(field: "Idempotency-Key", message: "is not supported yet")])
        }
        let parsed = try CallRequest(request.body, settings: services.settings, requestedBy: principal.name, now: services.now())
        try await services.dialler.create(parsed.call)
        var answer: [String: JSONValue] = [
            "outbound_id": .string(parsed.call.outboundID), "state": .string(parsed.call.state.rawValue),
            "created_at": Payloads.time(parsed.call.createdAt), "message": "the call is queued",
        ]
        if !parsed.warnings.isEmpty { answer["warnings"] = .array(parsed.warnings.map { .string($0) }) }
        var response = Routes.json(.object(answer), status: 202)
        response.headers.append(("location", "/api/outbound/\(parsed.call.outboundID)"))
        return response
    }

    func list(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let page = try await services.store.page(try Self.filter(request.query))
        let now = services.now()
        return Routes.json([
            "items": .array(page.items.map { Payloads.call($0, isMasked: true, now: now) }), "next_cursor": .optional(page.nextCursor),
            "total": .number(Double(page.total)),
        ])
    }

    /// The list's parameters, all bad ones found.
    static func filter(_ query: [(name: String, value: String)]) throws(APIError) -> CallFilter {
        var errors: [APIError.Field] = []
        var filter = CallFilter()
        for (name, value) in query {
            switch name {
            case "state":
                guard !value.isEmpty else { continue }
                if let state = CallState(rawValue: value) {
                    filter.state = state
                } else {
                    errors.append(.init(field: "state", message: "is no state of a call"))
                }
            case "q": filter.search = String(value.prefix(200))
            case "from", "to":
                guard !value.isEmpty else { continue }
                // A "+" of an offset arrives as a space when it was not escaped.
                guard let date = Timestamp.parse(value.replacing(" ", with: "+")) else {
                    errors.append(.init(field: name, message: "must be an RFC 3339 time"))
                    continue
                }
                if name == "from" { filter.from = date } else { filter.to = date }
            case "limit":
                guard let limit = Int(value), CallFilter.limitRange.contains(limit) else {
                    errors.append(
                        .init(
                            field: "limit",
                            message: "must be a number from \(CallFilter.limitRange.lowerBound) to \(CallFilter.limitRange.upperBound)"))
                    continue
                }
                filter.limit = limit
            case "cursor":
                guard Int64(value, radix: 36) != nil else {
                    errors.append(.init(field: "cursor", message: "is not one that a list gave"))
                    continue
                }
                filter.cursor = value
            case "campaign_id": errors.append(.init(field: "campaign_id", message: "is not supported yet"))
            default: errors.append(.init(field: name, message: "is not a known parameter"))
            }
        }
        if !errors.isEmpty { throw APIError.invalid(errors) }
        return filter
    }

    func active(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let calls = try await services.store.calls(in: [.queued, .dialing, .ringing, .connected])
        let now = services.now()
        return Routes.json([
            "items": .array(calls.map { Payloads.call($0, isMasked: true, now: now) }), "next_cursor": .null,
            "total": .number(Double(calls.count)),
        ])
    }

    func statistics(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        Routes.json(Payloads.statistics(try await services.store.statistics()))
    }

    private func call(of request: HTTPRequest) async throws -> Call {
        let id = request.parameters["id"] ?? ""
        guard id.hasPrefix("ob-"), id.count == 11, let call = try await services.store.call(id) else {
            throw APIError.notFound("there is no call with this id")
        }
        return call
    }

    func one(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        guard case .object(var members) = Payloads.call(call, isMasked: false, now: services.now()) else { throw APIError.notFound("") }
        if let edges = await services.dialler.edges(of: call.outboundID) {
            members["queues"] = .array(
                edges.map {
                    [
                        "name": .string($0.name), "depth": .number(Double($0.depth)), "peak": .number(Double($0.peakDepth)),
                        "limit": .number(Double($0.limit)), "oldest_ms": .number(Double($0.oldestMs)), "dropped": .number(Double($0.dropped)),
                    ]
                })
        }
        return Routes.json(.object(members))
    }

    func result(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let transcript = try await services.store.transcript(of: call.outboundID)
        return Routes.json(Payloads.result(call, transcript: transcript, now: services.now()))
    }

    func transcript(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let transcript = try await services.store.transcript(of: call.outboundID)
        return Routes.json(["outbound_id": .string(call.outboundID), "transcript": .array(transcript.map(Payloads.entry))])
    }

    func recording(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        guard let name = call.recording,
            let response = HTTPResponse.file(
                path: services.settings.recordingsFolder + "/" + name, contentType: "audio/wav", request: request)
        else { throw APIError.notFound("the call has no recording") }
        return response
    }

    func events(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let events = try await services.store.events(after: 0, of: call.outboundID)
        return HTTPResponse(
            status: 200, contentType: "application/json",
            Array(("{\"items\":[" + events.map(Payloads.event).joined(separator: ",") + "]}").utf8))
    }

    func cancel(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        try await services.dialler.cancel(call.outboundID)
        return Routes.json(["outbound_id": .string(call.outboundID), "message": "the call is being cancelled"], status: 202)
    }

    func retry(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        let queued = try await services.dialler.retry(call.outboundID)
        return Routes.json(
            ["outbound_id": .string(queued.outboundID), "state": .string(queued.state.rawValue), "message": "the call is queued again"],
            status: 202)
    }

    func hangUp(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        let call = try await call(of: request)
        try await services.dialler.hangUp(call.outboundID)
        return Routes.json(["outbound_id": .string(call.outboundID), "message": "the call is being hung up"], status: 202)
    }
}
