internal import Agents
internal import Calls
internal import Foundation
internal import JSON
internal import Problems
internal import Store

/// The members `agent` and `variables` of a call.
enum AgentFields {
    static let agent = Field(
        "agent", .text(AgentName.lengthLimit), "who speaks: a slug, or slug@version; else the configuration")
    static let variables = Field("variables", .free, "values of the agent's variables: texts, numbers, true or false")

    /// Who was asked for, as it was found.
    enum Choice: Sendable {
        case configuration
        case version(AgentVersion)
        case unknown

        var version: AgentVersion? { if case .version(let version) = self { version } else { nil } }
    }

    /// The name in a body that may be anything; nil: none.
    static func name(in body: [UInt8]) -> String? {
        (try? JSONValue(parsing: body))?[agent.name]?.asText?.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What the request says beside its agent; what does not go together is noted.
    static func order(_ fields: inout FieldReader, _ choice: Choice) -> AgentOrder {
        // Who was not looked up is not there.
        let isDefault = fields.text(agent.name).flatMap(AgentName.init).map { $0.slug == AgentReference.defaultSlug }
        let isUnknown =
            switch choice {
            case .configuration: fields.text(agent.name) != nil && isDefault != true
            case .unknown: true
            case .version: false
            }
        if isUnknown, !fields.hasFailed(agent.name) { fields.fail(agent.name, .unknownAgent) }
        var order = AgentOrder()
        let given = ["purpose", "questions", "language", "max_duration", "voicemail", "voicemail_message"]
        order.given = Set(given.filter { fields.sent($0).map { $0 != .null } ?? false })
        if !isUnknown, choice.version?.hasPurpose != true { fields.require("purpose") }
        if !isUnknown, choice.version?.hasQuestions != true { fields.require("questions") }
        // Of an agent that is not there nothing is declared.
        if !isUnknown { order.variables = values(&fields, choice.version?.variables ?? []).variables }
        return order
    }

    /// The values of variables; what is wrong with them is noted.
    static func values(_ fields: inout FieldReader, _ declared: [AgentVersion.Variable]) -> AgentOrder {
        var order = AgentOrder()
        for (name, value) in (fields.values.free(variables.name) ?? [:]).sorted(by: { $0.key < $1.key }) {
            let field = "\(variables.name).\(name)"
            guard declared.contains(where: { $0.name == name }) else {
                fields.fail(field, .unknownVariable)
                continue
            }
            if let text = text(value, field, &fields) { order.variables[name] = text }
        }
        let size = order.variables.values.reduce(0) { $0 + $1.utf8.count }
        if size > AgentForm.valuesLimit {
            fields.fail(variables.name, .tooLarge, ["limit": .number(AgentForm.valuesLimit)])
        }
        for name in missing(order, declared) where !fields.hasFailed("\(variables.name).\(name)") {
            fields.fail("\(variables.name).\(name)", .missingVariable)
        }
        return order
    }

    /// Required variables without a value.
    static func missing(_ order: AgentOrder, _ declared: [AgentVersion.Variable]) -> [String] {
        declared.filter { $0.isRequired && $0.usual == nil && order.variables[$0.name] == nil }.map(\.name)
    }

    /// A value as it stands in a text; nil: there is none.
    private static func text(_ value: JSONValue, _ field: String, _ fields: inout FieldReader) -> String? {
        switch value {
        case .null: return nil
        case .bool(let value): return value ? "true" : "false"
        case .number(let number):
            guard number.exact != nil else {
                fields.fail(field, .tooExact)
                return nil
            }
            return number.text
        case .string(let text):
            if text.count > AgentForm.valueLimit {
                fields.fail(field, .tooLong, ["limit": .number(AgentForm.valueLimit)])
            }
            if let problem = TextRule.paragraph.problem(with: text) { fields.fail(field, problem) }
            return text.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty ? nil : text
        case .array, .object:
            fields.fail(field, .notScalar)
            return nil
        }
    }

    /// The code of an error whose only reason are variables without values.
    static func code(of errors: [APIError.Field]) -> String? {
        errors.allSatisfy { $0.problem.code == .missingVariable } ? ProblemCode.missingVariable.name : nil
    }
}

extension Routes.Services {
    /// Who a call's request asks for.
    func choice(_ body: [UInt8], _ company: CompanyID) async throws -> AgentFields.Choice {
        guard let text = AgentFields.name(in: body), !text.isEmpty else { return .configuration }
        guard let name = AgentName(text), let version = try await agent(name, of: company) else { return .unknown }
        return version.reference == .default ? .configuration : .version(version)
    }

    /// The version with which a call that is dialled anew may begin; nil: the call has no agent but the configuration.
    func newest(of call: Call, _ company: CompanyID) throws(APIError) -> AgentVersion? {
        guard let slug = call.agent?.slug, let order = call.order else { return nil }
        guard let name = AgentName(slug), let version = agents.version(name, of: company) else {
            throw APIError(409, "agent_archived", .agentArchived)
        }
        let missing = AgentFields.missing(order, version.variables)
        guard missing.isEmpty else {
            var error = APIError.invalid(
                missing.map { .init(field: "variables.\($0)", problem: Problem(.missingVariable)) })
            error.code = ProblemCode.missingVariable.name
            throw error
        }
        return version
    }
}
