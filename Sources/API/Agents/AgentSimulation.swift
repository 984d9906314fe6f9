internal import Agents
internal import Calls
internal import Foundation
internal import JSON
internal import Net
internal import Problems
internal import Realtime
internal import Store

/// `POST /api/agents/{slug}/simulate`: a conversation as text, with the built-in policy.
extension AgentRoutes {
    /// Steps of a simulation, and characters of one.
    private static let stepLimit = 50, wordsLimit = 500, keyLimit = 20

    private static let step = Field.Kind.textOrObject(
        .text(wordsLimit, .paragraph),
        [
            Field("keys", .text(keyLimit), "keys of the telephone: 0 to 9, * and #"),
            Field("silence", .boolean, "nothing is said until the AI speaks"),
        ])
    static let simulation = Form(
        "SimulateAgent",
        [
            Field("version", .integer(0...AgentRows.versionLimit), "this version; else the live one"),
            Field(
                "mode", .choice(AgentProfile.Mode.allCases.map(\.rawValue)), default: "embedded",
                "who chooses the words: the built-in policy"),
            AgentFields.variables,
            Field("turns", .list(step, count: 0...stepLimit), required: true, "what the other party does, in order"),
        ])

    func simulate(_ request: HTTPRequest, _ principal: Principal) async throws -> HTTPResponse {
        var fields = try FieldReader(request.body, Self.simulation)
        let version = try await version(request, fields.integer("version"), principal, usual: .live)
        let order = AgentFields.values(&fields, version.variables)
        let steps = Self.steps(&fields)
        if let mode = fields.choice("mode", as: AgentProfile.Mode.self), mode != .embedded {
            fields.fail("mode", .notSupportedYet)
        }
        try fields.check()
        var call = Call(
            localNumber: "", remoteNumber: "", brief: Call.brief(of: services.settings), createdAt: services.now())
        if version.reference != .default {
            call.take(
                version, order, over: Call.brief(of: services.settings), duration: Call.usualDuration,
                in: services.settings, zone: services.agents.environment.timeZone, at: call.createdAt)
        }
        var policy = services.settings.conversation.policy
        policy.speaksFirst = call.profile?.turns.speaksFirst ?? policy.speaksFirst
        policy.disclosure = call.profile?.disclosure ?? policy.disclosure
        policy.silencePromptMs = call.profile?.turns.silencePromptMs ?? policy.silencePromptMs
        policy.detectsMachines = false
        var simulation = TextSimulation(call.brief, policy: policy)
        for step in steps { simulation.take(step) }
        return Routes.json(Self.answer(simulation, call))
    }

    private static func steps(_ fields: inout FieldReader) -> [TextSimulation.Step] {
        var steps: [TextSimulation.Step] = []
        for (index, item) in (fields.list("turns") ?? []).enumerated() {
            switch item {
            case .text(let text)?: steps.append(.says(text))
            case .object(let members)?:
                let keys = members.text("keys"), isSilent = members.boolean("silence") == true
                if let keys, !isSilent, keys.allSatisfy({ "0123456789*#".contains($0) }) {
                    steps.append(.presses(keys))
                } else if keys == nil, isSilent {
                    steps.append(.isSilent)
                } else {
                    fields.fail("turns[\(index)]", .notStep)
                }
            default: break
            }
        }
        return steps
    }

    private static func answer(_ simulation: TextSimulation, _ call: Call) -> JSONValue {
        let answers = call.brief.questions.compactMap { question in
            simulation.answers.first { $0.questionID == question.id }.map { Payloads.answer($0, question: question) }
        }
        return [
            "agent": AgentPayloads.reference(call.agent),
            "transcript": .array(
                simulation.lines.map {
                    ["speaker": $0.speaker == .ai ? "ai" : "customer", "text": .string($0.text)]
                }), "answers": .array(answers), "is_over": .bool(simulation.isOver),
            "end_reason": .optional(
                simulation.end?.rawValue ?? (simulation.isTransferred ? EndReason.transferred.rawValue : nil)),
        ]
    }
}
