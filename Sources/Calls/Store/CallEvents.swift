internal import Foundation
internal import Problems
public import Store
internal import Synchronization

/// The webhook endpoints for the events of all calls. A call may name another one.
public struct WebhookSubscribers: Sendable, Equatable {
    /// Of the configuration; they are the company `default`'s.
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
        let told = try call.map { ($0.company, $0.webhookURL) } ?? work.calls.audience(of: event.callID)
        guard let (company, own) = told else {
            throw StoreError(.notFound, .noCallNamed, ["id": .text(event.callID)])
        }
        return try append(event, of: company, alsoTo: own, work)
    }

    /// Of a company, and perhaps of no call.
    /// - Parameter own: an address that is told beside the company's.
    func append(_ event: CallEvent, of company: CompanyID, alsoTo own: String? = nil, _ work: Work) throws -> CallEvent
    {
        let stored = try work.events.append(company, event)
        var urls = endpoints(of: company).filter { $0.events?.contains(event.name) ?? true }.map(\.url)
        if let own { urls.append(own) }
        for url in Set(urls) {
            try work.outbox.enqueue(
                company, url: url, body: stored.envelope, named: event.name, of: event.callID, at: event.at)
        }
        return stored
    }

    /// The configuration's endpoints are told of the events of `default` alone.
    private func endpoints(of company: CompanyID) -> [WebhookEndpoint] {
        guard company != .default else { return subscribers.withLock { $0.endpoints } }
        return companies.known(company)?.webhookURL.map { [WebhookEndpoint(url: $0)] } ?? []
    }

    // MARK: The outbox

    /// Posts a text to an address of a call's own, in the order of its events.
    func enqueue(body: String, named name: String, to url: String, of call: Call, at: Date)
        async throws(StoreError)
    {
        let company = call.company, id = call.id
        try await storage.write { try $0.outbox.enqueue(company, url: url, body: body, named: name, of: id, at: at) }
    }
}
