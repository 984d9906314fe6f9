internal import Agents
public import Foundation
public import Realtime
public import Store

/// A purpose and its questions, saved under a name.
public struct CallTemplate: Sendable, Equatable, Codable {
    /// `tp-` and 8 hex digits.
    public var id: String
    public var name: String
    public var purpose: String
    public var questions: [Question]
    public var language: String?
    public var callerDisplayName: String
    /// The greeting of calls to a number with this template; nil: the greeting of all inbound calls.
    public var greeting: String?
    public var createdAt: Date
    public var updatedAt: Date
    public init(
        id: String = "tp-" + ShortID.random(), name: String, purpose: String, questions: [Question],
        language: String? = nil,
        callerDisplayName: String = "", createdAt: Date, updatedAt: Date
    ) {
        self.id = id
        self.name = name
        self.purpose = purpose
        self.questions = questions
        self.language = language
        self.callerDisplayName = callerDisplayName
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

extension CallStore {
    /// Stores a template under its id. Its name must be its own.
    public func save(_ template: CallTemplate) async throws(StoreError) {
        try await storage.templates.saveTemplate(
            template, id: template.id, name: template.name, createdAt: template.createdAt,
            updatedAt: template.updatedAt)
    }

    /// By name.
    public func templates() async throws(StoreError) -> [CallTemplate] { try await storage.templates.all() }

    public func template(_ id: String) async throws(StoreError) -> CallTemplate? {
        try await storage.templates.one(id)
    }

    public func removeTemplate(_ id: String) async throws(StoreError) { try await storage.templates.remove(id) }

    /// The numbers that have a template or an agent.
    func assignments() async throws(StoreError) -> NumberAssignments {
        let templates = Dictionary(try await templates().map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        var found = NumberAssignments()
        var cursor: Int64?
        repeat {
            let page = try await storage.numbers.callerNumbers(limit: 500, cursor: cursor)
            for number in page.items {
                let key = plan.key(number.number)
                found.templates[key] = number.templateID.flatMap { templates[$0] }
                found.agents[key] = number.agent.flatMap(AgentName.init).map { (.default, $0, number.number) }
            }
            cursor = page.nextCursor
        } while cursor != nil
        return found
    }
}
