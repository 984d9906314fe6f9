import JSON
import Problems
import Store
import Testing

@testable import Agents

@Suite struct AgentCheckerTests {
    private func check(
        _ document: JSONValue, slug: String? = nil, in environment: AgentEnvironment = AgentEnvironment()
    ) -> AgentChecker {
        AgentChecker(document, slug: slug, company: .default, in: environment)
    }

    private func errors(_ document: JSONValue, in environment: AgentEnvironment = AgentEnvironment()) -> [String] {
        check(document, in: environment).errors.map { "\($0.field) \($0.problem.message)" }
    }

    private let small: JSONValue = ["slug": "salon", "name": "Salon"]

    private func small(_ more: [String: JSONValue]) -> JSONValue {
        guard case .object(let members) = small else { return small }
        return .object(members.merging(more) { $1 })
    }

    @Test func theDocumentOfTheContractIsGood() {
        #expect(errors(SalonDocument.full) == [])
    }

    @Test func whatIsLeftOutStaysOut() {
        let checker = check(small(["purpose": "  to book  ", "closing": .null, "turns": [:]]))
        #expect(checker.errors.isEmpty)
        #expect(checker.document == ["slug": "salon", "name": "Salon", "purpose": "to book"])
    }

    @Test func numbersMeanTheSameHoweverTheyAreWritten() throws {
        let one = try JSONValue(parsing: Array(#"{"slug":"a","name":"A","voice":{"speed":1.0}}"#.utf8))
        let other = try JSONValue(parsing: Array(#"{"slug":"a","name":"A","voice":{"speed":1e0}}"#.utf8))
        #expect(check(one).document == check(other).document)
    }

    @Test func everyMistakeOfADocumentIsTold() {
        var environment = AgentEnvironment()
        environment.missing = { provider, name in
            provider == .textToSpeech && name == "cartesia" ? "CARTESIA_API_KEY" : nil
        }
        let mistakes: JSONValue = [
            "slug": "Salon!", "language": "klingon-language", "mode": "telepathy", "publish_gate": "smoke",
            "purpose": "to call {{nobody}}", "color": "red",
            "questions": [
                ["text": "Which?", "type": "choice", "choices": ["one"]],
                ["text": "Why?", "ask_if": ["question": "q3", "equals": "x"]], "Last?",
            ],
            "flow": ["type": "graph"], "tools": ["end_call", "fly"], "mcp": ["nowhere"],
            "voice": ["tts_provider": "cartesia", "stt_provider": "ears", "speed": 9],
            "context": ["role": .string(String(repeating: "x", count: AgentForm.sizeLimit))],
        ]
        #expect(
            errors(mistakes, in: environment).sorted()
                == [
                    "color is not a known field", "context.role is longer than 4000 characters",
                    "document is larger than 262144 bytes", "flow.type is not supported yet",
                    "language must be a BCP 47 tag, e.g. en or ko", "mcp[0] there is no MCP server with this name",
                    "mode must be one of cascade, realtime, embedded", "name is required",
                    "publish_gate is not supported yet",
                    "purpose asks for nobody, which is neither declared in variables nor known",
                    "questions[0].choices must have 2 to 9 items for the type choice",
                    "questions[1].ask_if.question must be the id of an earlier question, e.g. q1",
                    "slug must be 1 to 40 of a-z, 0-9 and '-', and begin with a letter",
                    "tools[1] there is no tool with this name", "voice.speed must lie in 0.5…2",
                    "voice.stt_provider must be one of embedded, deepgram, openai, sherpa",
                    "voice.tts_provider cartesia is not set up (CARTESIA_API_KEY)",
                ].sorted())
    }

    @Test(
        arguments: [
            ("{{name}}", nil), ("{{variables.name}}", nil), ("{{ name | you }}", nil), ("{{call.id}} {{now}}", nil),
            ("{{caller.number}} {{callee.number}} {{agent.slug}} {{today}} {{weekday}} {{call.direction}}", nil),
            ("{{names}}", "asks for names, which is neither declared in variables nor known"),
            ("{{variables.other}}", "asks for variables.other, which is neither declared in variables nor known"),
            ("{{call.secret}}", "asks for call.secret, which is neither declared in variables nor known"),
            ("{{answers.q1}}", "asks for answers.q1, which is not supported yet"),
            ("{{secrets.crm}}", "asks for a secret: secrets stand in headers of tools only"),
            ("{{name", "has a place that is not closed by two braces"),
            ("{{na me}}", "has a place that cannot be read: na me"),
        ] as [(String, String?)]) func aTextMayAskForWhatThereIs(_ text: String, _ problem: String?)
    {
        let document = small(["variables": [["name": "name"]], "first_message": .string(text)])
        #expect(errors(document) == problem.map { ["first_message \($0)"] } ?? [])
    }

    @Test func nothingIsFilledInWhereNoTextIs() {
        #expect(
            errors(small(["variables": [["name": "x"]], "llm": ["model": "{{x}}"]])) == [
                "llm.model holds a place in double braces, and nothing is filled in here"
            ])
    }

    @Test func variablesHaveNamesOfTheirOwn() {
        let document = small([
            "variables": [
                ["name": "a"], ["name": "a"], ["name": "today"], ["name": "B"],
                ["name": "c", "required": true, "default": "x"],
            ]
        ])
        #expect(
            errors(document) == [
                "variables[3].name must be 1 to 40 of a-z, 0-9 and '_', and begin with a letter",
                "variables[1].name stands twice", "variables[2].name is a name that the server sets itself",
                "variables[4].default does not go with required",
            ])
    }

    @Test func embeddedLeavesTheMachineNowhere() {
        let document = small(["mode": "embedded", "voice": ["tts_provider": "openai", "stt_provider": "sherpa"]])
        #expect(
            errors(document) == [
                "voice.tts_provider openai does not go with mode embedded: nothing leaves the machine"
            ])
    }

    @Test func aSpeechModelMustBeSetUp() {
        var environment = AgentEnvironment()
        environment.missing = { provider, name in provider == .speechModel ? "\(name)_KEY" : nil }
        #expect(
            errors(small(["mode": "realtime"]), in: environment) == [
                "mode no speech model is set up (openai_KEY, gemini_KEY)"
            ])
    }

    @Test func aLanguageThatTheRecogniserDoesNotKnowIsAWarning() {
        var environment = AgentEnvironment()
        environment.warning = { language, recogniser, voice in
            recogniser == "deepgram" ? nil : Problem(.answersByKeypad, ["language": .text(language)])
        }
        let plain = check(small(["language": "ko"]), in: environment)
        #expect(plain.errors.isEmpty && plain.warnings.map(\.code) == [.answersByKeypad])
        let able = check(small(["language": "ko", "voice": ["stt_provider": "deepgram"]]), in: environment)
        #expect(able.warnings.isEmpty)
    }

    @Test func aMessageForMachinesMustBeThere() {
        let document = small(["voicemail": ["action": "leave_message"]])
        #expect(errors(document).map { $0.prefix(17) } == ["voicemail.message"])
        var environment = AgentEnvironment()
        environment.configured["voicemail.message"] = "Call us back."
        #expect(errors(document, in: environment) == [])
    }

    @Test func theSlugIsThePaths() {
        #expect(check(["name": "Salon"], slug: "salon").errors.isEmpty)
        #expect(check(small, slug: "bakery").errors.map(\.field) == ["slug"])
    }

    @Test(arguments: [JSONValue.null, "text", 1, []]) func onlyAnObjectIsADocument(_ value: JSONValue) {
        #expect(check(value).errors.map(\.problem.code) == [.notObject])
    }

    @Test func aListThatIsFarTooLongIsOneMistake() {
        let facts = JSONValue.array(Array(repeating: 1, count: 5_000))
        #expect(check(small(["context": ["facts": facts]])).errors.count == 101)
    }

    @Test func everyLeafHasAPlaceOfItsOwn() {
        let paths = AgentForm.leaves.map(\.path)
        #expect(Set(paths).count == paths.count)
        // No leaf stands inside another one.
        for path in paths { #expect(!paths.contains { $0.hasPrefix(path + ".") }, "\(path)") }
    }

    @Test func theSchemaNamesEveryLeaf() throws {
        #expect(AgentForm.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema")
        for leaf in AgentForm.leaves {
            let place = leaf.path.split(separator: ".").flatMap { ["properties", String($0)] }
            let schema = try #require(AgentForm.schema[JSONPointer(place)], "\(leaf.path)")
            #expect(schema["description"] == .string(leaf.help))
        }
        #expect(AgentForm.schema["required"] == ["slug", "name"])
    }
}

/// The document of PLATFORM §1, without what is not built yet.
enum SalonDocument {
    static let full: JSONValue = [
        "slug": "salon", "name": "Salon bookings", "language": "ru", "mode": "cascade",
        "variables": [
            ["name": "name", "required": true, "example": "Anna"], ["name": "tier", "default": "none"],
        ],
        "context": [
            "role": "You book visits.\nTwo lines.", "style": "warm", "safety_rules": ["No advice for {{name}}."],
            "facts": ["Open daily: 9–18.", ["question": "Where?", "answer": "Main street 5"]],
        ],
        "purpose": "to book a visit for {{name}}", "first_message": "Здравствуйте, {{name|друг}}!",
        "closing": "До встречи",
        "disclosure": "I am an AI.",
        "questions": [
            "When?", ["text": "Which {{tier}} service?", "type": "choice", "choices": ["hair", "nails"]],
            ["text": "Sure?", "type": "boolean", "required": false, "ask_if": ["question": "q2", "equals": "hair"]],
        ],
        "flow": ["type": "linear"], "agent": ["handoff_criteria": ["complex_request": true, "angry": false]],
        "tools": ["end_call", "transfer_to_operator"], "knowledge": ["sets": ["default"], "answer_directly": true],
        "voice": [
            "tts_provider": "cartesia", "tts_voice_id": "064b", "speed": .number(1.1), "stt_provider": "deepgram",
            "stt_language": "ru",
        ],
        "stt": ["model": "nova-3", "keyterms": ["маникюр"]],
        "llm": ["provider": "groq", "model": "llama", "temperature": .number(0.4)],
        "realtime": ["provider": "openai", "model": "gpt-realtime", "voice": "marin"],
        "turns": [
            "finished_ms": 350, "barge_in": ["confirm_ms": 300], "silence_prompt_ms": 7000, "speaks_first": true,
        ],
        "voicemail": ["action": "leave_message", "message": "Call us, {{name}}."],
        "recording": ["save": true, "consent_line": "This call is recorded."],
        "limits": ["max_duration": 240, "max_turns": 20],
    ]
}
