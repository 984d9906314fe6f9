import Agents
import Bridge
import Foundation
import JSON
import Net
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct CallAgentTests {
    private let zone = TimeZone(identifier: "UTC") ?? .current
    private let settings: CallSettings = {
        var settings = CallSettings()
        settings.maxCallDuration = 300
        settings.greetingTemplate = "Hello, {caller} calls."
        return settings
    }()

    private func version(_ more: [String: JSONValue] = [:]) -> AgentVersion {
        let document: [String: JSONValue] = [
            "slug": "salon", "name": "Salon", "language": "ko", "purpose": "to book for {{name}}",
            "questions": ["When, {{name}}?"], "limits": ["max_duration": 900, "max_turns": 7],
            "voicemail": ["action": "leave_message", "message": "Call {{name}}."], "first_message": "Hi {{name}}",
            "variables": [["name": "name"]],
        ]
        return AgentVersion(AgentReference(slug: "salon", version: 3), .object(document.merging(more) { $1 }))
    }

    private func call(purpose: String = "") -> Call {
        var brief = Call.brief(of: settings)
        brief.purpose = purpose
        return Call(localNumber: "025550100", remoteNumber: "01012345678", brief: brief, createdAt: Date())
    }

    private func taken(_ order: AgentOrder, purpose: String = "", _ version: AgentVersion? = nil) -> Call {
        var call = call(purpose: purpose)
        call.take(
            version ?? self.version(), order, over: Call.brief(of: settings), duration: Call.usualDuration,
            in: settings, zone: zone, at: call.createdAt)
        return call
    }

    @Test func theAgentComesBeforeTheConfiguration() {
        let call = taken(AgentOrder(variables: ["name": "Anna"]))
        #expect(call.agent == AgentReference(slug: "salon", version: 3))
        #expect(call.brief.purpose == "to book for Anna" && call.brief.language == "ko" && call.brief.maxTurns == 7)
        #expect(call.brief.questions.map(\.text) == ["When, Anna?"] && call.answers.count == 1)
        #expect(call.brief.greetingTemplate == "Hello, {caller} calls.")
        #expect(call.maxDuration == 300, "no longer than any call")
        #expect(call.voicemail == VoicemailPolicy(action: .leaveMessage, message: "Call Anna."))
        #expect(call.profile?.firstMessage == "Hi Anna" && call.profile?.maxTurns == 7)
    }

    @Test func theRequestComesBeforeTheAgent() {
        let call = taken(
            AgentOrder(given: ["purpose", "questions", "language", "max_duration", "voicemail"]), purpose: "own")
        #expect(call.brief.purpose == "own" && call.brief.questions.isEmpty && call.brief.language == "en")
        #expect(call.maxDuration == 180)
        // The action was named and is left to the configuration; the message is the agent's.
        #expect(call.voicemail == VoicemailPolicy(action: nil, message: "Call ."))
    }

    @Test func anotherVersionTakesThePlaceOfTheFirst() {
        var call = taken(AgentOrder(variables: ["name": "Anna"], given: ["purpose"]), purpose: "own")
        let next = AgentVersion(AgentReference(slug: "salon", version: 4), ["questions": ["Who?"], "purpose": "other"])
        call.take(
            next, call.order ?? AgentOrder(), over: Call.brief(of: settings), duration: Call.usualDuration,
            in: settings, zone: zone, at: call.createdAt)
        #expect(call.agent?.version == 4 && call.brief.purpose == "own" && call.brief.language == "en")
        #expect(call.brief.questions.map(\.text) == ["Who?"] && call.voicemail == nil && call.profile == AgentProfile())
    }

    @Test func aCallIsStoredWithItsAgent() throws {
        let call = taken(AgentOrder(variables: ["name": "Anna"]))
        let row = try StoredCall.row(call)
        #expect(try StoredCall.call(json: Data(row.record.utf8)) == call)
    }

    @Test func theActionsAreThoseOfCalls() {
        #expect(AgentBrief.voicemailActions == VoicemailAction.allCases.map(\.rawValue))
    }

    // MARK: Calls that come in

    private func destination(_ agent: AgentVersion?, of number: String, named: AgentName? = nil) async throws
        -> InboundRouter.Destination
    {
        let folder = NSTemporaryDirectory() + "trunkline-test-" + UUID().uuidString
        let store = try CallStore(folder: folder)
        defer {
            store.close()
            try? FileManager.default.removeItem(atPath: folder)
        }
        var settings = settings
        settings.inbound.agent = named?.description
        let numbers = NumberDirectory(plan: settings.routing.plan)
        if let agent { numbers.agents.take(agent, as: "salon", revision: 1, of: .default) }
        try await store.numbers.addCallerNumber(
            CallerNumber(
                number: "025550100", label: "", dailyCap: nil, agent: "salon", addedAt: Date(), addedBy: "op"))
        try await numbers.reload(from: store)
        #expect(numbers.numbers(of: .default) == ["salon": ["025550100"]])
        let router = InboundRouter(
            loops: [], settings: settings,
            operators: OperatorDirectory(realm: "r", algorithms: [.md5], plan: settings.routing.plan), numbers: numbers)
        return try router.destination(of: number)
    }

    @Test func aNumbersAgentAnswers() async throws {
        let found = try await destination(version(), of: "+82 2 555 0100")
        #expect(found.agent?.reference.slug == "salon")
        var call = Call(
            arrivalOf: "x", from: "01012345678", to: "025550100", at: found, maxDuration: 300, createdAt: Date())
        call.take(found, in: settings, zone: zone)
        #expect(call.agent == AgentReference(slug: "salon", version: 3) && call.brief.isIncoming == true)
        #expect(call.brief.purpose == "to book for " && call.brief.questions.map(\.text) == ["When, ?"])
        #expect(call.brief.greetingTemplate == nil, "the configuration's greeting tells of its own purpose")
    }

    @Test func aNumberWithoutAnAgentHasTheUsualOne() async throws {
        #expect(try await destination(version(), of: "025550199").agent == nil)
        #expect(try await destination(version(), of: "025550199", named: AgentName("salon")).agent != nil)
        #expect(try await destination(nil, of: "025550199", named: AgentName("salon")).agent == nil)
    }

    @Test func anAgentWithoutAPurposeTakesMessages() {
        var call = Call(
            arrivalOf: "x", from: "a", to: "b", at: .init(brief: settings.inbound.brief), maxDuration: 300,
            createdAt: Date())
        let quiet = AgentVersion(AgentReference(slug: "q", version: 1), ["context": ["style": "calm"]])
        call.take(.init(brief: settings.inbound.brief, agent: quiet), in: settings, zone: zone)
        #expect(call.brief.purpose == InboundSettings.messageTaking.purpose && call.brief.questions.count == 2)
        #expect(call.answers.count == 2 && call.profile?.style == "calm")
    }
}
