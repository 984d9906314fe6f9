import Foundation
import JSON
import Realtime
import Store
import Testing

@testable import Agents

@Suite struct AgentResolutionTests {
    private let salon = AgentVersion(AgentReference(slug: "salon", version: 7), SalonDocument.full)

    private func facts(_ language: String = "en") throws -> AgentCallFacts {
        AgentCallFacts(
            id: "ob-00000001", direction: "outbound", caller: "025550100", callee: "01012345678",
            at: Date(timeIntervalSince1970: 1_790_000_000), timeZone: try #require(TimeZone(identifier: "Asia/Seoul")),
            language: language)
    }

    @Test func everyLeafTakesItsPlace() throws {
        let brief = salon.brief(for: try facts(), variables: ["name": "Anna"])
        #expect(brief.language == "ru" && brief.maxDuration == 240)
        #expect(brief.purpose == "to book a visit for Anna")
        #expect(brief.questions.map(\.text) == ["When?", "Which none service?", "Sure?"])
        #expect(brief.questions[1].choices == ["hair", "nails"] && brief.questions[1].kind == .choice)
        #expect(brief.questions[2].condition == .init(question: "q2", equals: .text("hair")))
        #expect(!brief.questions[2].isRequired && brief.questions[0].isRequired)
        #expect(brief.facts == [.init(question: "Where?", answer: "Main street 5")])
        #expect(brief.voicemailAction == "leave_message" && brief.voicemailMessage == "Call us, Anna.")

        var profile = AgentProfile()
        profile.mode = .cascade
        profile.role = "You book visits.\nTwo lines."
        profile.style = "warm"
        profile.safetyRules = ["No advice for Anna."]
        profile.notes = ["Open daily: 9–18."]
        profile.firstMessage = "Здравствуйте, Anna!"
        profile.closing = "До встречи"
        profile.disclosure = "I am an AI."
        profile.consentLine = "This call is recorded."
        profile.savesRecording = true
        profile.handoffCriteria = ["complex_request"]
        profile.speechToText.provider = "deepgram"
        profile.speechToText.language = "ru"
        profile.speechToText.model = "nova-3"
        profile.speechToText.keyterms = ["маникюр"]
        profile.languageModel.provider = "groq"
        profile.languageModel.model = "llama"
        profile.languageModel.temperature = 0.4
        profile.textToSpeech.provider = "cartesia"
        profile.textToSpeech.voice = "064b"
        profile.textToSpeech.speed = 1.1
        profile.speechModel.provider = "openai"
        profile.speechModel.model = "gpt-realtime"
        profile.speechModel.voice = "marin"
        profile.turns.finishedMs = 350
        profile.turns.bargeInConfirmMs = 300
        profile.turns.silencePromptMs = 7_000
        profile.turns.speaksFirst = true
        profile.knowledge.sets = ["default"]
        profile.knowledge.answersDirectly = true
        profile.maxTurns = 20
        profile.tools = ["end_call", "transfer_to_operator"]
        #expect(brief.profile == profile)
    }

    @Test func anEmptyDocumentChangesNothing() throws {
        let version = AgentVersion(AgentReference(slug: "a", version: 1), ["slug": "a", "name": "A"])
        #expect(version.brief(for: try facts(), variables: [:]) == AgentBrief())
    }

    @Test(arguments: [
        ("{{call.id}} {{call.direction}}", "ob-00000001 outbound"),
        ("{{caller.number}} {{callee.number}}", "025550100 01012345678"),
        ("{{agent.slug}}@{{agent.version}}", "salon@7"), ("{{now}}", "2026-09-21T23:13:20+09:00"),
        ("{{today}}, {{weekday}}", "2026-09-21, Monday"), ("{{who|nobody}}", "nobody"), ("[{{who}}]", "[]"),
        // A value is filled in as it is.
        ("{{odd}}", "{{call.id}}"), ("{{variables.odd|x}}", "{{call.id}}"),
    ]) func placesAreFilledIn(_ text: String, _ filled: String) throws {
        let version = AgentVersion(
            AgentReference(slug: "salon", version: 7),
            ["variables": [["name": "who"], ["name": "odd"]], "purpose": .string(text)])
        #expect(version.brief(for: try facts(), variables: ["odd": "{{call.id}}"]).purpose == filled)
    }

    @Test func theWeekdayIsNamedInTheCallsLanguage() throws {
        let version = AgentVersion(AgentReference(slug: "a", version: 1), ["purpose": "{{weekday}}"])
        #expect(version.brief(for: try facts("ko"), variables: [:]).purpose == "월요일")
    }

    @Test func effectiveNamesTheLayerOfEveryLeaf() {
        var environment = AgentEnvironment()
        environment.configured = ["turns.finished_ms": 500, "language": "en", "limits.max_turns": 30, "closing": .null]
        let document: JSONValue = ["slug": "a", "name": "A", "turns": ["finished_ms": 350], "language": "ko"]
        let version = AgentVersion(AgentReference(slug: "a", version: 1), document)
        let effective = version.effective(in: environment)
        #expect(effective["turns.finished_ms"] == ["value": 350, "from": "agent"])
        #expect(effective["language"] == ["value": "ko", "from": "agent"])
        #expect(effective["limits.max_turns"] == ["value": 30, "from": "configuration"])
        #expect(effective["closing"] == ["value": .null, "from": "default"])
        #expect(effective["flow.type"] == ["value": "linear", "from": "default"])
    }

    @Test func theConfigurationIsAnAgentToo() {
        var environment = AgentEnvironment()
        environment.configured = ["turns.finished_ms": 500, "language": "en", "closing": .null]
        #expect(
            environment.document
                == ["slug": "default", "name": "Default", "language": "en", "turns": ["finished_ms": 500]])
        let version = AgentVersion(.default, environment.document)
        #expect(version.effective(in: environment)["language"] == ["value": "en", "from": "configuration"])
    }

    @Test(
        arguments: [
            ("salon", "salon", nil), ("salon@7", "salon", 7), ("default@0", "default", 0), ("Salon", nil, nil),
            ("salon@", nil, nil), ("salon@07", nil, nil), ("salon@-1", nil, nil), ("salon@1@2", nil, nil),
            ("", nil, nil),
            ("1salon", nil, nil), ("salon@99999999999999999999", nil, nil),
        ] as [(String, String?, Int?)]) func aNameSaysWhichVersion(_ text: String, _ slug: String?, _ version: Int?)
    {
        let name = AgentName(text)
        #expect(name?.slug == slug && name?.version == version)
    }

    @Test func theDirectoryKeepsTheLaterState() throws {
        let directory = AgentDirectory(), name = try #require(AgentName("salon"))
        let version = { AgentVersion(AgentReference(slug: "salon", version: $0), ["slug": "salon"]) }
        directory.take(version(2), as: "salon", revision: 2, of: .default)
        directory.take(version(1), as: "salon", revision: 1, of: .default)
        #expect(directory.version(name, of: .default)?.reference.version == 2)
        #expect(directory.version(name, of: .init(rawValue: "other")) == nil)
        directory.pin([(.default, version(1))])
        #expect(directory.version(try #require(AgentName("salon@1")), of: .default)?.reference.version == 1)
        #expect(directory.version(try #require(AgentName("salon@9")), of: .default) == nil)
        directory.take(nil, as: "salon", revision: 3, of: .default)
        #expect(directory.version(name, of: .default) == nil)
        #expect(directory.version(try #require(AgentName("salon@1")), of: .default) == nil)
    }
}
