public import Foundation
public import Store
internal import Synchronization

/// The webhook endpoints for the events of all calls. A call may name another one.
public struct WebhookSubscribers: Sendable, Equatable {
    public var endpoints: [WebhookEndpoint] = []
    /// Calls that end are put on a list.
    var wantsEndedCalls = false
    public init() {}
}

extension CallEvent {
    /// An event of a call, named by its direction: `outbound_ringing`, `inbound_ringing`.
    init(kind: String, at: Date, callID: String, direction: CallDirection, payload: String) {
        self.init(
            name: "\(direction.rawValue)_\(kind)", at: at, callID: callID, direction: direction, payload: payload)
    }
    init(kind: String, at: Date, of call: Call, payload: String) {
        self.init(kind: kind, at: at, callID: call.id, direction: call.direction, payload: payload)
    }

    /// Builds a payload from values `JSONEncoder` takes.
    static func payload(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}

extension CallStore {
    public func subscribe(_ endpoints: [WebhookEndpoint]) {
        subscribers.withLock { $0.endpoints = endpoints }
    }

    /// Stores an event, and a message for each of its webhook endpoints.
    /// - Parameter call: whose event it is, where its webhook is to be told; nil: it is looked up where it must be.
    func append(_ event: CallEvent, of call: Call?, _ work: Work) throws -> CallEvent {
        let stored = try work.events.append(event)
        var urls = subscribers.withLock { $0.endpoints }.filter { $0.events?.contains(event.name) ?? true }.map(\.url)
        let own = try call.map(\.webhookURL) ?? work.calls.webhook(of: event.callID)
        if let own { urls.append(own) }
        for url in Set(urls) {
            try work.outbox.enqueue(
                url: url, body: stored.envelope, named: event.name, of: event.callID, at: event.at)
        }
        return stored
    }

    /// Of the latest event; 0: there has been none.
    public func latestEventID() async throws(StoreError) -> Int64 {
        try await storage.read { try $0.events.latest() }
    }

    /// Events after an id, oldest first, at most `limit`; of one call where one is named.
    public func events(after id: Int64, of callID: String? = nil, limit: Int = 1_000) async throws(StoreError)
        -> [CallEvent]
    {
        try await storage.read { try $0.events.events(after: id, of: callID, limit: limit) }
    }

    // MARK: The outbox

    /// Posts a text to an address of a call's own, in the order of its events.
    public func enqueue(body: String, named name: String, to url: String, of callID: String, at: Date)
        async throws(StoreError)
    {
        try await storage.write { try $0.outbox.enqueue(url: url, body: body, named: name, of: callID, at: at) }
    }
}
