public import Foundation
public import Store
internal import Synchronization

/// The webhook endpoints for the events of all calls. A call may name another one.
public struct WebhookSubscribers: Sendable, Equatable {
    public struct Endpoint: Sendable, Equatable {
        public var url: String
        /// Names of events; nil: all.
        public var events: Set<String>?
        public init(url: String, events: Set<String>? = nil) {
            self.url = url
            self.events = events
        }
    }
    public var endpoints: [Endpoint] = []
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

    /// RFC 3339 with milliseconds.
    static func time(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
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
    public func subscribe(_ endpoints: [WebhookSubscribers.Endpoint]) {
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

    /// Messages to send now: of each call and endpoint only the first that waits, so that their order is kept.
    func dueDeliveries(at now: Date, limit: Int) async throws(StoreError) -> [Delivery] {
        let (due, damaged) = try await storage.read { try $0.outbox.due(at: now, limit: limit) }
        if !damaged.isEmpty {
            // What cannot be read keeps nothing else waiting.
            try await storage.write { try $0.outbox.giveUp(damaged, error: "its row is damaged") }
        }
        return due
    }

    func nextDelivery() async throws(StoreError) -> Date? { try await storage.read { try $0.outbox.next() } }

    /// What came of one try.
    func tried(_ id: Int64, state: Delivery.State, status: Int?, error: String?, nextAt: Date, at now: Date)
        async throws(StoreError)
    {
        try await storage.write {
            try $0.outbox.tried(id, state: state, status: status, error: error, nextAt: nextAt, at: now)
        }
    }

    /// Newest first.
    public func deliveries(state: Delivery.State?, of callID: String?, limit: Int, cursor: Int64?)
        async throws(StoreError) -> DeliveryPage
    {
        try await storage.read { try $0.outbox.page(state: state, of: callID, limit: limit, cursor: cursor) }
    }

    /// Sends messages again, with all their tries: one, or all that were given up. Returns how many.
    public func replay(_ id: Int64?, at now: Date) async throws(StoreError) -> Int {
        try await storage.write { try $0.outbox.replay(id, at: now) }
    }
}
