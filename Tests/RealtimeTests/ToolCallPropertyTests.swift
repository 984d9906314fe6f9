import Testing

@testable import Realtime

/// Random calls with random tools: whatever happens in whatever order, the rules hold.
@Suite struct ToolCallPropertyTests {
    private struct Dice: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// A call by numbers, and what has become of its tools.
    private struct Talk {
        var machine: DialogueMachine
        var dice: Dice
        var now = 0
        var asked: [(conversation: Conversation, generation: Int)] = []
        var working: [ToolCall] = []
        var started: Set<Int> = []
        var refused: Set<Int> = []
        var speaking: Int32?
        var hasEnded = false

        init(seed: Int) {
            dice = Dice(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
            let tools = ["plain", "confirmed"].map { name in
                CallTool(
                    name: name, purpose: "Does \(name).", parameters: "{}",
                    speech: .init(before: "Wait.", texts: ["So."]),
                    needsConsent: name == "confirmed", limit: 6)
            }
            machine = DialogueMachine(
                brief: Brief(purpose: "p", questions: [], maxTurns: 1_000), canRecognizeSpeech: true,
                tools: ToolLedger(tools))
            perform(machine.mediaStarted(at: 0))
        }

        mutating func perform(_ actions: [DialogueMachine.Action]) {
            for action in actions {
                switch action {
                case .requestModel(let conversation, let generation): asked.append((conversation, generation))
                case .cancelModel: if asked.count > 1 { asked.removeFirst() }
                case .callTool(let call):
                    #expect(started.insert(call.number).inserted, "carried out twice")
                    #expect(!refused.contains(call.number), "carried out after it was refused")
                    working.append(call)
                    #expect(working.count <= ToolLedger.runningLimit)
                case .toolRefused(let call, _):
                    if call.number <= ToolLedger.callLimit { refused.insert(call.number) }
                case .cancelTool(let call): working.removeAll { $0.number == call.number }
                case .speak(_, let turn), .disclose(_, let turn): speaking = turn
                case .flushSpeech:
                    if let turn = speaking {
                        speaking = nil
                        perform(machine.turnHeard("So", turn: turn, isInterrupted: true, at: now))
                    }
                case .hangUp, .fail: hasEnded = true
                default: break
                }
            }
        }

        mutating func step() {
            now += Int.random(in: 1...8, using: &dice) * 20
            switch Int.random(in: 0..<12, using: &dice) {
            case 0...2: respond()
            case 3: if let call = working.randomElement(using: &dice) { finish(call) }
            case 4: perform(machine.speechStarted(at: now))
            case 5: perform(machine.speechEnded(spokenMs: 600, at: now))
            case 6:
                let words = ["Yes.", "No.", "What is that?", "Go on with it", ""].randomElement(using: &dice) ?? ""
                perform(machine.transcript(.final(text: words, confidence: nil), at: now))
            case 7: perform(machine.interrupted(at: now))
            case 8: perform(machine.key(["1", "2", "7"].randomElement(using: &dice) ?? "1", at: now))
            case 9...10:
                guard let turn = speaking else { break }
                speaking = nil
                perform(machine.turnHeard("So.", turn: turn, isInterrupted: false, at: now))
            default: perform(machine.tick(at: now))
            }
        }

        private mutating func respond() {
            guard let (_, generation) = asked.last else { return }
            asked = []
            if Bool.random(using: &dice) { perform(machine.model(.text("Well. "), generation: generation, at: now)) }
            for _ in 0..<Int.random(in: 0...3, using: &dice) {
                let name = ["plain", "confirmed", "unknown"].randomElement(using: &dice) ?? ""
                let arguments = #"{"n":\#(Int.random(in: 0...3, using: &dice))}"#
                perform(machine.model(.toolCall(name: name, arguments: arguments), generation: generation, at: now))
            }
            perform(machine.modelFinished(generation: generation, at: now))
        }

        private mutating func finish(_ call: ToolCall) {
            working.removeAll { $0.number == call.number }
            perform(machine.toolFinished(call.number, ToolResult(output: "{}"), at: now))
        }
    }

    @Test(arguments: 0..<200) func theRulesHold(seed: Int) {
        var talk = Talk(seed: seed)
        for _ in 0..<800 where !talk.hasEnded { talk.step() }
        let ledger = talk.machine.tools
        #expect(ledger.entries.count <= ToolLedger.callLimit)
        #expect(ledger.open == ledger.entries.count { if case .told = $0.state { false } else { true } })
        #expect(ledger.entries.count { $0.isUnsettled } <= ToolLedger.runningLimit)
        // Every result is told once, and no other.
        let told = talk.machine.conversation.items.compactMap { item in
            if case .toolResult(let call, _) = item { call.number } else { nil }
        }
        #expect(Set(told).count == told.count)
        // Whatever the order of events, a vendor takes the messages.
        let messages = ChatPrompt(canCallTools: true).messages(talk.machine.conversation, summary: nil)
        var owed: [String] = []
        for message in messages {
            if message["role"] as? String == "tool" {
                #expect(owed.first == message["tool_call_id"] as? String, "an answer to no call")
                owed = Array(owed.dropFirst())
            } else {
                #expect(owed.isEmpty, "calls without an answer: \(owed)")
                owed = (message["tool_calls"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
            }
        }
        #expect(owed.isEmpty)
    }
}
