internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Store

/// `/api/webhooks/deliveries`: what was posted to whom, what was given up, and sending it again.
struct WebhookRoutes: Sendable {
    let services: Routes.Services

    func deliveries(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var query = QueryReader(request.query, ListQuery.deliveries)
        let cursor = query.cursor(of: .deliveries)
        try query.check()
        let page = try await services.store(principal).deliveries.page(
            state: query.choice("state", as: Delivery.State.self), of: query.text("outbound_id"),
            limit: query.integer("limit") ?? 0, cursor: cursor)
        return Routes.json([
            "items": .array(page.items.map(Payloads.delivery)),
            "next_cursor": .cursor(page.nextCursor, of: .deliveries),
        ])
    }

    /// One delivery again, whatever became of it.
    func replay(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        guard let text = request.parameters["id"], text.hasPrefix("msg_"), let id = Int64(text.dropFirst(4)) else {
            throw APIError.notFound(.noDelivery)
        }
        let count = try await services.store(principal).deliveries.replay(id, at: services.now())
        if count == 0 { throw APIError.notFound(.noDeliveryToRepeat) }
        return await replayed(count, principal, target: text)
    }

    /// All that were given up.
    func replayDead(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        await replayed(
            try await services.store(principal).deliveries.replay(nil, at: services.now()), principal, target: "")
    }

    private func replayed(_ count: Int, _ principal: Principal, target: String) async -> HTTPResponse {
        services.wakeWebhooks()
        await services.audit(principal, "webhook.replay", target: target, detail: "\(count)")
        return Routes.json(["replayed": .number(Double(count))], status: 202)
    }
}
