import Foundation
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Realtime

@Suite struct TaskStateFilterTests {
    private func run(_ pieces: [String]) throws -> (text: String, calls: [String]) {
        let events = try StageHarness.run(TaskStateFilter(), pieces)
        var text = ""
        var calls: [String] = []
        for event in events {
            switch event {
            case .text(let piece): text += piece
            case .source: Issue.record("no knowledge was asked")
            case .toolCall(let name, let arguments):
                #expect(name == DialogueTool.reportTaskState)
                calls.append(arguments)
            }
        }
        return (text, calls)
    }

    @Test(arguments: 1...40) func isFoundHoweverItIsCut(size: Int) throws {
        let whole = "Thank you [really]. [TASK_STATE] {\"asking\":\"q1\"} [/TASK_STATE]Goodbye [TASK"
        let pieces = stride(from: 0, to: whole.count, by: size).map { start in
            String(whole[whole.index(whole.startIndex, offsetBy: start)...].prefix(size))
        }
        let (text, calls) = try run(pieces)
        #expect(text == "Thank you [really]. Goodbye [TASK" && calls == ["{\"asking\":\"q1\"}"])
    }

    /// Found by the fuzzer: a mark joins the bracket before it to one character, and the tag was none any more.
    @Test func aMarkBehindATagMakesNothingSpoken() throws {
        let (text, calls) = try run(["[TASK_STATE]\u{301}{}[/TASK_STATE]\u{301}Good", "bye."])
        #expect(text.unicodeScalars.elementsEqual("\u{301}Goodbye.".unicodeScalars) && calls == ["{}"])
    }

    @Test(arguments: [
        "Yes.[TASK_STATE]{\"asking\":", "Yes.[TASK_STATE]" + String(repeating: "x", count: 50_000),
        "Yes.[TASK_STATE]no json[/TASK_STATE]",
        "Yes.[TASK_STATE]}{[/TASK_STATE]",
    ])
    func whatIsNoReportIsDroppedAndNeverSpoken(text: String) throws {
        let (spoken, calls) = try run(
            stride(from: 0, to: text.count, by: 61).map { String(text.dropFirst($0).prefix(61)) })
        #expect(spoken == "Yes." && calls.isEmpty)
    }
}

@Suite struct DeepgramStreamTests {
    private static func results(_ text: String, start: Double = 0, duration: Double, flags: String = "") -> [UInt8] {
        Array(
            #"{"type":"Results","channel_index":[0,1],"start":\#(start),"duration":\#(duration),\#(flags)"channel":{"alternatives":[{"transcript":"\#(text)","confidence":0.9,"words":[]}]}}"#
                .utf8)
    }
    private static let second = [Int16](repeating: 1, count: 8_000)

    @Test func interimAndFinalPiecesMakeATurn() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        stream.heard(Self.second)
        try stream.received(Self.results("I would", duration: 0.5), into: &events)
        try stream.received(Self.results("I would like", duration: 1, flags: #""is_final":true,"#), into: &events)
        stream.heard(Self.second)
        try stream.received(Self.results("four", start: 1, duration: 0.5), into: &events)
        stream.turnEnded()
        try stream.received(
            Self.results("four seats.", start: 1, duration: 1, flags: #""is_final":true,"from_finalize":true,"#),
            into: &events)
        #expect(
            events == [
                .interim("I would"), .interim("I would like"), .interim("I would like four"),
                .final(text: "I would like four seats.", confidence: 0.9),
            ])
        #expect(stream.outgoing.last == .text(#"{"type":"Finalize"}"#))
    }

    @Test func aNewConnectionHearsWhatIsNotCertain() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.heard(Self.second)  // before there is a connection
        stream.connected()
        stream.heard(Self.second)
        try stream.received(Self.results("One", duration: 0.75, flags: #""is_final":true,"#), into: &events)
        stream.disconnected()
        stream.heard(Self.second)
        stream.turnEnded()
        stream.outgoing = []
        stream.connected()
        let sound = stream.outgoing.reduce(0) { if case .sound(let bytes) = $1 { $0 + bytes.count } else { $0 } }
        #expect(sound == 2 * (24_000 - 6_000) && stream.outgoing.last == .text(#"{"type":"Finalize"}"#))
        try stream.received(
            Self.results("two", duration: 2.25, flags: #""is_final":true,"from_finalize":true,"#), into: &events)
        #expect(events.last == .final(text: "One two", confidence: 0.9))
        // The turn has been told: it is not heard again.
        stream.outgoing = []
        stream.disconnected()
        stream.connected()
        #expect(stream.outgoing.isEmpty)
    }

    @Test func aPauseOfTheSpeakerIsTold() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        stream.heard(Self.second)
        try stream.received(
            Self.results("Yes.", duration: 1, flags: #""is_final":true,"speech_final":true,"#), into: &events)
        #expect(events == [.interim("Yes."), .pause("Yes.")])
        try stream.received(Array(#"{"type":"UtteranceEnd","channel":[0,1],"last_word_end":0.9}"#.utf8), into: &events)
        #expect(events.last == .pause("Yes."))
    }

    @Test func silenceIsKeptAliveAndAStallIsFound() throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        for _ in 0..<20 { try stream.tick(into: &events) }
        #expect(stream.outgoing == [.text(#"{"type":"KeepAlive"}"#)])
        stream.heard([Int16](repeating: 1, count: 1_600))
        stream.turnEnded()
        for _ in 0..<6 { try stream.tick(into: &events) }
        #expect(events == [.final(text: "", confidence: nil)], "a cough says nothing")
        stream.heard(Self.second)
        stream.turnEnded()
        #expect(throws: SpeechError.self) { for _ in 0..<6 { try stream.tick(into: &events) } }
    }

    @Test(arguments: ["", "{", "[]", #"{"type":7}"#, #"{"type":"Results"}"#, #"{"type":"Results","channel":[1]}"#])
    func nonsenseIsBorneForAWhile(text: String) throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        for _ in 0..<20 { try stream.received(Array(text.utf8), into: &events) }
        #expect(throws: SpeechError.self) { try stream.received(Array(text.utf8), into: &events) }
        #expect(events.isEmpty)
    }

    @Test(arguments: ["1e400", "-5", "1e18"]) func impossibleTimesDoNoHarm(time: String) throws {
        var stream = DeepgramStream()
        var events: [TranscriptEvent] = []
        stream.connected()
        stream.heard(Self.second)
        let text = String(decoding: Self.results("x", duration: 1, flags: #""is_final":true,"#), as: UTF8.self)
            .replacing(
                #""start":0.0"#, with: #""start":\#(time)"#)
        try stream.received(Array(text.utf8), into: &events)
        stream.heard(Self.second)
        stream.disconnected()
        stream.connected()
    }
}

@Suite struct ProviderHealthTests {
    @Test func theCoolDownGrowsAndEnds() {
        let time = Mutex(0.0)
        let health = ProviderHealth { time.withLock { $0 } }
        let engines = [NamedEngine("a", 1), NamedEngine("b", 2)]
        health.failed("a", SpeechError("x", .unavailable))
        #expect(health.order(engines).map(\.name) == ["b"])
        time.withLock { $0 = 20 }
        #expect(health.order(engines).map(\.name) == ["a", "b"])
        health.failed("a", SpeechError("x", .broken))
        time.withLock { $0 = 59 }
        #expect(!health.isUsable("a"))
        time.withLock { $0 = 60 }
        #expect(health.isUsable("a"))
        health.succeeded("a")
        health.failed("a", SpeechError("x", .stalled))
        time.withLock { $0 = 80 }
        #expect(health.isUsable("a"), "a success makes it short again")
    }
    @Test func theServiceMaySayHowLong() {
        let health = ProviderHealth { 0 }
        health.failed("a", SpeechError("x", .rateLimited(retryAfterSeconds: 7)))
        health.failed("b", SpeechError("x", .unauthorized))
        #expect(health.statuses(of: ["a", "b", "c"]).map(\.coolDownSeconds) == [7, 600, 0])
    }
    @Test func whereNoneWorksAllAreTried() {
        let health = ProviderHealth { 0 }
        for name in ["a", "b"] { health.failed(name, SpeechError("x")) }
        #expect(health.order([NamedEngine("a", 1), NamedEngine("b", 2)]).count == 2)
    }
}

@Suite struct SpeechErrorTests {
    @Test(arguments: [
        (401, "", SpeechError.Kind.unauthorized), (403, "", .unauthorized),
        (429, "7", .rateLimited(retryAfterSeconds: 7)),
        (429, "soon", .rateLimited(retryAfterSeconds: nil)),
        (400, "", .invalid), (500, "", .unavailable), (503, "", .unavailable),
        (429, "1e9", .rateLimited(retryAfterSeconds: 3_600)),
    ])
    func statusesHaveTheirMeaning(status: Int, retryAfter: String, kind: SpeechError.Kind) {
        #expect(SpeechError("s", status: status, headers: ["retry-after": retryAfter]).kind == kind)
    }
    @Test(arguments: [
        (#"{"error":{"message":"no credit","type":"x"}}"#, "no credit"), (#"{"error":"no"}"#, "no"),
        (#"{"detail":{"status":"x","message":"voice"}}"#, "voice"),
        (#"{"err_code":"x","err_msg":"bad"}"#, "bad"), ("plain", "plain"), ("<html>", nil), ("", nil), ("{}", nil),
    ])
    func theVendorsWordsAreFound(body: String, words: String?) {
        #expect(SpeechError.words(Array(body.utf8)) == words)
    }
}

@Suite struct VoiceTests {
    @Test func characterTimesBecomeWords() {
        var words = CharacterWords()
        let first = words.take(["H", "i", " ", "y", "o"], [0, 50, 100, 150, 200], [50, 50, 50, 50, 50], offsetMs: 0)
        let second = words.take(["u", ".", " "], [0, 50, 100], [50, 50, 50], offsetMs: 250)
        #expect(
            first == [SpokenWord("Hi", startMs: 0, endMs: 100)]
                && second == [SpokenWord("you.", startMs: 150, endMs: 350)])
        #expect(words.finish() == nil)
        // Lists of different lengths, and times that cannot be.
        #expect(
            words.take(["a", "b"], [.max], [.min, 3], offsetMs: 10).isEmpty
                && words.finish() == SpokenWord("a", startMs: 3_600_010, endMs: 3_600_010)
        )
    }

    @Test func samplesAreWholeHoweverTheBytesAreCut() {
        var assembler = SampleAssembler()
        #expect(
            assembler.samples([0x01, 0x02, 0xFF]) == [0x0201] && assembler.samples([]) == []
                && assembler.samples([0x7F, 0x00, 0x80]) == [0x7FFF, -0x8000])
    }

    @Test(arguments: [
        (0, "One two three four five."), (500, "three four five."), (1_000, "four five."), (10_000, ""),
    ])
    func anotherVoiceSaysTheRest(spokenMs: Int, rest: String) {
        #expect(FallbackSpeech.rest(of: "One two three four five.", afterMs: spokenMs) == rest)
    }

    @Test func exactWordsBeatTheEstimate() {
        var ledger = HeardLedger()
        let utterance = ledger.begin(turn: 1, text: "One two three.")
        ledger.generated(1_000, of: utterance)
        ledger.words(
            [
                SpokenWord("One", startMs: 0, endMs: 100), SpokenWord("two", startMs: 100, endMs: 800),
                SpokenWord("three.", startMs: 800, endMs: 1_000),
            ], of: utterance)
        ledger.played(460, of: utterance, from: 0)
        ledger.flush()
        #expect(ledger.heardText(turn: 1) == "One two" && !ledger.isCutEstimated(turn: 1))
    }

    private final class Beeps: Sendable {
        let started = Mutex<[String]>([])
        func speech(_ sentence: Sentence, _ pieces: Edge<VoicePiece>) async throws {
            started.withLock { $0.append(sentence.text) }
            if sentence.text == "broken" { throw SpeechError("it broke", .broken) }
            if sentence.text == "for ever" { try await Task.sleep(for: .seconds(3_600)) }
            try await pieces.send(.audio([Int16](repeating: 1, count: 160)))
        }
    }

    private func sentence(_ utterance: Int, _ text: String) -> Sentence {
        Sentence(utterance: utterance, turn: 1, text: text, language: "en")
    }

    @Test func sentencesComeInOrder() async throws {
        let beeps = Beeps()
        let input = Edge<Sentence>("in", limit: 8, whenFull: .wait),
            output = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        for index in 0..<4 { input.offer(sentence(index, "\(index)")) }
        input.finish()
        try await SentenceStreams(sampleRate: 8_000, synthesize: beeps.speech).run(from: input, to: output)
        output.finish()
        var finished: [Int] = []
        while case .data(let piece)? = await output.next() {
            if case .finished(let utterance) = piece { finished.append(utterance) }
        }
        #expect(finished == [0, 1, 2, 3] && beeps.started.withLock { $0.sorted() } == ["0", "1", "2", "3"])
    }

    @Test func aFlushGivesUpWhatIsOnItsWay() async throws {
        let beeps = Beeps()
        let input = Edge<Sentence>("in", limit: 8, whenFull: .wait),
            output = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        async let run: Void = SentenceStreams(sampleRate: 8_000, synthesize: beeps.speech).run(from: input, to: output)
        input.offer(sentence(0, "for ever"))
        input.offer(sentence(1, "never"))
        while beeps.started.withLock({ $0.isEmpty }) { await Task.yield() }
        input.flush()
        input.offer(sentence(2, "now"))
        while case let signal? = await output.next() { if case .data(.finished(utterance: 2)) = signal { break } }
        input.finish()
        try await run
    }

    @Test func aBrokenSentenceIsToldWithItsReason() async throws {
        let input = Edge<Sentence>("in", limit: 8, whenFull: .wait),
            output = Edge<SynthesizedAudio>("out", limit: 64, whenFull: .wait)
        input.offer(sentence(0, "broken"))
        await #expect(throws: SpeechError("it broke", .broken)) {
            try await SentenceStreams(sampleRate: 8_000, synthesize: Beeps().speech).run(from: input, to: output)
        }
    }
}

@Suite struct ChatPromptTests {
    @Test func whatWasHeardIsWhatIsTold() {
        var conversation = Conversation(brief: Brief(purpose: "p", questions: [Question(id: "q1", text: "Will you?")]))
        conversation.items = [
            .connected, .assistant(heard: "Hello, this", isInterrupted: true), .caller("What?"), .keys("1"), .silence,
        ]
        let messages = ChatPrompt(canCallTools: true).messages(conversation, summary: nil)
        #expect(messages.map { $0["role"] as? String } == ["system", "user", "assistant", "user"])
        #expect(messages[2]["content"] as? String == "Hello, this —")
        #expect((messages[3]["content"] as? String)?.hasPrefix("What?\n[They pressed the keys 1.]\n[") == true)
        let short = ChatPrompt(canCallTools: false).messages(
            conversation, summary: ConversationSummary(itemCount: 4, text: "They asked what."))
        #expect(short.count == 3 && (short[0]["content"] as? String)?.contains("[TASK_STATE]") == true)
        #expect((short[1]["content"] as? String)?.contains("They asked what.") == true)
    }
    @Test func koreanCostsMore() {
        #expect(ChatPrompt.tokens("안녕하세요") == 9 && ChatPrompt.tokens("Hello, how are you?") == 8)
    }
}

@Suite struct KnowledgeTests {
    @Test(arguments: [
        ("Where is the car park?", ["where", "is", "the", "car", "park"]),
        ("주차장이 있나요?", ["주차", "차장", "장이", "있나", "나요"]),
        ("B2호 룸", ["b2", "호", "룸"]),
        ("Ça coûte 3,50 €", ["ça", "coûte", "3", "50"]), ("", []), ("?!", []),
    ])
    func wordsAreFound(text: String, tokens: [String]) { #expect(KnowledgeWords.tokens(text) == tokens) }

    @Test func likenessIsOfTheTellingWords() {
        #expect(KnowledgeWords.likeness("When do you open on Sundays?", "When are you open on Sundays") == 1)
        #expect(
            KnowledgeWords.likeness("When do you open on Sundays?", "When do you close on Sundays?")
                < InformedLanguageModel.answerLikeness)
        #expect(KnowledgeWords.likeness("", "x") == 0)
    }

    @Test func documentsAreCutAtParagraphsUnderTheirHeadings() {
        let chunks = KnowledgeChunks.split(
            "Intro.\n\n# Parking\n\nOne.\n\nTwo.\n\n# Dogs\n\n" + String(repeating: "word ", count: 400))
        #expect(
            chunks[0] == "Intro." && chunks[1] == "Parking\nOne.\nTwo."
                && chunks.dropFirst(2).allSatisfy { $0.hasPrefix("Dogs\nword") && $0.count < 900 })
        #expect(chunks.count == 5 && KnowledgeChunks.split(" \n\n ").isEmpty)
        // Without a place to cut.
        #expect(
            KnowledgeChunks.split(String(repeating: "x", count: 5_000)).allSatisfy {
                $0.count <= KnowledgeChunks.length
            })
    }
}
