import Foundation
import Testing

@testable import Realtime

@Suite struct AnsweringMachineDetectionTests {
    @Test(arguments: [
        (
            "Hi. If you record your name and reason for calling, I'll see if this person is available.", "en",
            AnsweringMachineDetection.screening
        ),
        (
            "The person you're calling is using a screening service from Google. "
                + "Go ahead and say your name and why you're calling.",
            "en", .screening
        ),
        ("You have reached the voicemail of Kim. Please leave a message after the tone.", "en", .machine),
        ("The mailbox is full.", "en", .machine), ("Please stay on the line.", "en", .hold),
        ("One moment please.", "en", .hold),
        (
            "Thank you for calling. Press 1 for sales, press 2 for support, or press 0 to speak with an operator.",
            "en", .menu(person: "0")
        ),
        ("For opening hours, press one. To talk to a representative, press nine.", "en", .menu(person: "9")),
        ("Press 1 for English. Press 2 for Spanish.", "en", .menu(person: nil)),
        ("To accept this call, press 5.", "en", .menu(person: "5")),
        ("삐 소리 후 음성사서함으로 연결됩니다", "ko", .machine), ("성함과 용건을 말씀해 주세요", "ko", .screening), ("잠시만 기다려 주세요", "ko", .hold),
        ("상담원 연결은 0번을 눌러 주세요", "ko", .menu(person: "0")), ("Оставьте сообщение после сигнала", "ru", .machine),
        ("Представьтесь, пожалуйста", "ru", .screening), ("Оставайтесь на линии", "ru", .hold),
        ("Для соединения с оператором нажмите ноль", "ru", .menu(person: "0")),
    ])
    func answeringMachinesAreRecognised(_ text: String, _ language: String, _ talk: AnsweringMachineDetection) {
        #expect(AnsweringMachineDetection.read(text, language: language) == talk)
    }

    @Test(arguments: [
        "", "Hello?", "Yes, I will be there.", "Who is this?", "I am in a meeting.", "The press was there.", "9 guests",
        "What is it about?",
    ])
    func possiblePeopleAreNotTakenForMachines(_ text: String) {
        #expect(AnsweringMachineDetection.read(text, language: "en") == nil)
    }

    private static let brief = Brief(
        purpose: "to prepare the dinner", callerDisplayName: "Riverside Restaurant",
        questions: [Question(id: "q1", text: "Will you come?", kind: .boolean)])

    /// A machine that has greeted.
    private func greeted(_ change: (inout ConversationPolicy) -> Void = { _ in }) -> DialogueMachine {
        var policy = ConversationPolicy()
        policy.speculates = false
        change(&policy)
        var machine = DialogueMachine(brief: Self.brief, canRecognizeSpeech: true, policy: policy)
        _ = answer(machine.mediaStarted(at: 0), &machine, at: 0)
        return machine
    }

    /// Lets the embedded policy answer what is asked of the model; returns what is said and pressed.
    private func answer(_ actions: [DialogueMachine.Action], _ machine: inout DialogueMachine, at now: Int) -> [String]
    {
        var said: [String] = []
        for action in actions {
            switch action {
            case .requestModel(let conversation, let generation):
                for event in EmbeddedPolicy.events(for: conversation) {
                    for action in machine.model(event, generation: generation, at: now) {
                        if case .speak(let text, _) = action { said.append(text) }
                        if case .press(let keys) = action { said.append("[" + keys + "]") }
                    }
                }
                for action in machine.modelFinished(generation: generation, at: now) {
                    if case .speak(let text, _) = action { said.append(text) }
                }
                _ = machine.turnHeard(said.joined(separator: " "), turn: machine.turn, isInterrupted: false, at: now)
            case .hangUp(let reason): said.append("hang up: " + reason.rawValue)
            default: break
            }
        }
        return said
    }

    private func hear(_ text: String, _ machine: inout DialogueMachine, at now: Int) -> [String] {
        _ = machine.speechStarted(at: now)
        _ = machine.speechEnded(spokenMs: 1_000, at: now + 1_000)
        return answer(
            machine.transcript(.final(text: text, confidence: nil), at: now + 1_000), &machine, at: now + 1_000)
    }

    @Test func aScreeningAssistantIsToldWhoCallsAndAPersonIsGreeted() {
        var machine = greeted()
        let told = hear("Please state your name and the reason for your call.", &machine, at: 5_000)
        #expect(
            told.joined(separator: " ")
                == "This is an automated assistant calling for Riverside Restaurant. To prepare the dinner.")
        #expect(machine.answeredBy == .screening)
        #expect(hear("Please stay on the line.", &machine, at: 8_000).isEmpty)
        // No prompt is said while a person is being fetched.
        #expect(machine.tick(at: 40_000).isEmpty)
        let greeting = hear("Hello?", &machine, at: 41_000).joined(separator: " ")
        #expect(greeting.hasPrefix("Hello, this is an automated assistant") && greeting.hasSuffix("Will you come?"))
        #expect(machine.answeredBy == .human)
    }

    @Test func aPersonWhoNeverComesIsAskedForAndGivenUp() {
        var machine = greeted { $0.holdMs = 10_000 }
        _ = hear("Please hold.", &machine, at: 5_000)
        #expect(machine.tick(at: 15_000).isEmpty)
        #expect(answer(machine.tick(at: 16_100), &machine, at: 16_100).first == "Are you still there?")
    }

    @Test func aMenuIsLeftByTheKeyForAPerson() {
        var machine = greeted()
        #expect(hear("For sales press 1, to speak with somebody press 2.", &machine, at: 5_000) == ["[2]"])
        #expect(machine.answeredBy == .unknown)
        #expect(hear("Hello, reception.", &machine, at: 20_000).first?.hasPrefix("Hello, this is") == true)
    }

    @Test func aMachineIsHungUpOnWhateverTheModelThinks() {
        var machine = greeted()
        #expect(hear("You have reached the voicemail of Kim.", &machine, at: 5_000) == ["hang up: voicemail"])
        #expect(machine.answeredBy == .voicemail)
    }

    @Test func aPersonWhoHasAnsweredIsNoMachine() {
        var machine = greeted()
        _ = hear("Yes, I will come.", &machine, at: 5_000)
        #expect(machine.answeredBy == .human)
        #expect(!hear("You may leave your message at the desk.", &machine, at: 9_000).contains("hang up: voicemail"))
    }

    @Test func inboundCallersAreNeverTakenForMachines() {
        var machine = greeted { $0.detectsMachines = false }
        #expect(
            !hear("I want to leave my name after the tone, please hold.", &machine, at: 5_000).contains(
                "hang up: voicemail"))
        #expect(machine.answeredBy == .human)
        var other = greeted { $0.detectsMachines = false }
        _ = other.speechStarted(at: 5_000)
        #expect(other.monologue(at: 15_000).isEmpty)
    }

    @Test(arguments: [
        "{}", "", #"{"digits":""}"#, #"{"digits":"1a"}"#, #"{"digits":1}"#,
        #"{"digits":"\#(String(repeating: "1", count: 33))"}"#,
    ])
    func keysThatAreNone(_ arguments: String) { #expect(DialogueTool.SendDTMF.keys(in: arguments) == nil) }
}
