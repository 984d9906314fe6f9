internal import Foundation
internal import Net
internal import Pipeline

@testable internal import Realtime

/// What a session with a speech model is told, a message a line; a line that begins with `!` is a wish of ours.
private func fuzzSession(
    _ input: FuzzInput,
    _ open: @escaping @Sendable (EventLoop) -> (any SpeechSession, (UnsafeBufferPointer<UInt8>) -> Void)
) {
    let done = DispatchSemaphore(value: 0)
    modelLoop.post {
        defer { done.signal() }
        let (session, receive) = open(modelLoop)
        var events = 0, ends = 0, toolCalls = 0
        session.onEvent = { event in
            events += 1
            switch event {
            case .closed: ends += 1
            case .text(_, let item), .itemFinished(let item): expect(item >= 0, "an item below 0")
            case .toolCall: toolCalls += 1
            case .usage(let usage):
                expect(
                    min(usage.input, usage.cachedInput, usage.audioInput, usage.output, usage.audioOutput) >= 0,
                    "less than no tokens: \(usage)")
            default: break
            }
            expect(ends <= 1, "something came after the end")
        }
        session.onAudio = { bytes, item in
            expect(item >= 0 && bytes.count <= input.bytes.count, "more sound than was sent")
        }
        for line in input.lines {
            guard line.first == UInt8(ascii: "!") else {
                withBuffer(line, receive)
                continue
            }
            switch line.dropFirst().first {
            case UInt8(ascii: "r"): session.respond(nil)
            case UInt8(ascii: "i"): session.respond(String(decoding: line.dropFirst(2), as: UTF8.self))
            case UInt8(ascii: "c"): session.cancelResponse()
            case UInt8(ascii: "t"): session.truncate(item: Int(line.last ?? 0) - 48, heardMs: line.count * 100)
            case UInt8(ascii: "f"):
                session.finishTool(callID: "call", output: String(decoding: line.dropFirst(2), as: UTF8.self))
            case UInt8(ascii: "m"): session.commitTurn()
            default: withBuffer(line) { session.hear($0) }
            }
        }
        expect(
            events <= 4 * input.lines.count + input.bytes.count / 8, "\(events) events of \(input.lines.count) messages"
        )
        _ = session.resumptionHandle
        session.close()
    }
    done.wait()
}

/// The thread that sessions are confined to.
private let modelLoop: EventLoop = {
    guard let loop = try? EventLoop(name: "fuzz") else { fatalError("libwebsockets gave no loop") }
    loop.start()
    return loop
}()

private let setup = SpeechSessionSetup(
    instructions: "Be brief.", tools: [], language: "en", history: [.caller("Hello?")])
private let nowhere = WebSocketURL(host: "127.0.0.1", port: 9, path: "/", isSecure: false)

func fuzzOpenAIRealtime(_ input: FuzzInput) {
    fuzzSession(input) { loop in
        let session = OpenAIRealtimeSession(.init(url: nowhere), setup: setup, resolver: nil, loop: loop)
        return (session, { session.received($0) })
    }
}

func fuzzGeminiLive(_ input: FuzzInput) {
    fuzzSession(input) { loop in
        var configuration = GeminiLive.Configuration()
        configuration.url = nowhere
        let session = GeminiLiveSession(configuration, setup: setup, resolver: nil, loop: loop)
        return (session, { session.received($0) })
    }
}

func fuzzDeepgram(_ input: FuzzInput) {
    var stream = DeepgramStream()
    var events: [TranscriptEvent] = []
    var heard = 0
    stream.connected()
    for line in input.lines {
        do {
            if line.first == UInt8(ascii: "!") {
                switch line.dropFirst().first {
                case UInt8(ascii: "h"):
                    heard += 160
                    stream.heard([Int16](repeating: 1, count: 160))
                case UInt8(ascii: "e"): stream.turnEnded()
                case UInt8(ascii: "d"): stream.disconnected()
                case UInt8(ascii: "c"): stream.connected()
                default: try stream.tick(into: &events)
                }
            } else {
                try stream.received(Array(line), into: &events)
            }
        } catch { return }  // the connection is given up
        var sent = 0
        for message in stream.outgoing { if case .sound(let bytes) = message { sent += bytes.count / 2 } }
        expect(sent <= heard, "more sound was sent than was heard")
        stream.outgoing.removeAll()
        expect(events.count <= 2, "a message became \(events.count) events")
        events.removeAll()
    }
}

func fuzzCartesia(_ input: FuzzInput) {
    guard let message = try? CartesiaMessage(parsing: input.bytes) else { return }
    if message.data != nil, let sound = try? message.sound() {
        var whole = SampleAssembler(), cut = SampleAssembler()
        let expected = whole.samples(sound)
        expect(expected.count == sound.count / 2, "\(sound.count) bytes became \(expected.count) samples")
        let place = input.choice(sound.count + 1)
        expect(
            cut.samples(sound.prefix(place)) + cut.samples(sound.dropFirst(place)) == expected,
            "samples depend on where the bytes are cut")
    }
    for before in [0, 1_500, 3_600_000] {
        let words = message.words(before: before)
        expect(words.count <= message.wordTimestamps?.words.count ?? 0, "more words than were told")
        expect(
            words.allSatisfy { (0...3_600_000).contains($0.startMs) && (0...3_600_000).contains($0.endMs) },
            "a word out of its hour")
    }
}

func fuzzElevenLabs(_ input: FuzzInput) {
    var reading = ElevenLabsReading(sampleRate: 16_000)
    var samples = 0, last = 0
    for line in input.lines {
        guard let pieces = try? reading.received(Array(line)) else { break }
        for piece in pieces {
            switch piece {
            case .audio(let sound): samples += sound.count
            case .words(let words):
                expect(
                    words.allSatisfy { !$0.text.isEmpty && $0.startMs >= 0 && $0.endMs >= 0 }, "a word before the begin"
                )
                last += words.count
            default: break
            }
        }
        expect(pieces.count <= 2, "a message became \(pieces.count) pieces")
    }
    expect(samples == reading.samples && last <= input.bytes.count, "sound was lost")
    if let word = reading.lastWord() { expect(!word.text.isEmpty, "a word of nothing") }
}

/// However the text is cut: what is spoken and what is reported are the same, and no tag is ever spoken.
func fuzzTaskState(_ input: FuzzInput) {
    let text = input.text
    let whole = filtered([text])
    // Between scalars: a stream of text is never cut inside of one.
    let scalars = Array(text.unicodeScalars)
    let place = input.choice(scalars.count + 1), second = input.choice(scalars.count + 1, salt: 1)
    let cuts = [min(place, second), max(place, second)]
    func piece(_ range: Range<Int>) -> String {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: scalars[range])
        return String(view)
    }
    let cut = filtered([piece(0..<cuts[0]), piece(cuts[0]..<cuts[1]), piece(cuts[1]..<scalars.count)])
    expect(
        isSame(cut.text, whole.text) && cut.calls == whole.calls,
        "what is said depends on where the text is cut: \(whole) \(cut)")
    let single = filtered(scalars.map { String(Character($0)) })
    expect(
        isSame(single.text, whole.text) && single.calls == whole.calls,
        "what is said depends on where the text is cut: \(whole) \(single)")
    expect(whole.text.utf8.count <= text.utf8.count, "more is said than there was")
}

private func filtered(_ pieces: [String]) -> (text: String, calls: [String]) {
    var filter = TaskStateFilter()
    var events: [LanguageModelEvent] = []
    for piece in pieces { filter.process(piece, into: &events) }
    filter.finish(into: &events)
    var text = "", calls: [String] = []
    for event in events {
        switch event {
        case .text(let piece): text += piece
        case .toolCall(_, let arguments): calls.append(arguments)
        default: break
        }
    }
    return (text, calls)
}

/// Reports, one a line: a settled answer stays settled, and what is kept can be stored and read again.
func fuzzTaskTracker(_ input: FuzzInput) {
    var tracker = TaskTracker(questions: [
        Question(id: "q1", text: "Will you come?", kind: .boolean),
        Question(id: "q2", text: "How many?", kind: .number),
        Question(
            id: "q3", text: "Which day?", kind: .choice, choices: ["Friday", "Saturday"],
            condition: .init(question: "q1", equals: .boolean(true))),
    ])
    for line in input.lines {
        let before = tracker
        let changed = tracker.apply(json: String(decoding: line, as: UTF8.self))
        expect(Set(changed).isSubset(of: ["q1", "q2", "q3"]) && tracker.answers.count == 3, "an answer to no question")
        for (old, new) in zip(before.answers, tracker.answers) {
            expect(old.status == .pending || new.status != .pending, "a settled answer was made open again")
            expect(new.status != .notAsked, "a report said that a question was not asked")
            expect(
                (new.text ?? "").count <= 2_000 && new.confidence.map { (0...1).contains($0) } ?? true,
                "an answer without bounds")
            if case .number(let value)? = new.value {
                expect(!Answer.Value.number(value).text.isEmpty, "a number without digits")
            }
        }
        _ = (tracker.isCompleted, tracker.current, tracker.nextPending, tracker.openQuestions)
    }
    guard let stored = try? JSONEncoder().encode(tracker.answers),
        let read = try? JSONDecoder().decode([Answer].self, from: stored)
    else {
        return expect(false, "answers cannot be stored")
    }
    expect(read == tracker.answers, "stored and read, the answers are others: \(tracker.answers) \(read)")
    tracker.close()
    expect(!tracker.answers.contains { $0.status == .pending }, "open after the end")
}

/// No letter is lost or said twice, however the text is cut.
func fuzzSentences(_ input: FuzzInput) {
    func letters(_ text: some Sequence<Character>) -> [Character] { text.filter { $0.isLetter || $0.isNumber } }
    let text = input.text
    var splitter = SentenceSplitter()
    var sentences: [String] = []
    let scalars = Array(text.unicodeScalars)
    let place = input.choice(scalars.count + 1)
    for part in [scalars[..<place], scalars[place...]] {
        var view = String.UnicodeScalarView()
        view.append(contentsOf: part)
        splitter.process(String(view), into: &sentences)
    }
    splitter.finish(into: &sentences)
    let said = sentences.reduce(0) { $0 + $1.unicodeScalars.count { $0.properties.isAlphabetic } }
    let given = text.unicodeScalars.count { $0.properties.isAlphabetic }
    // A mark may be joined to the character before it; no letter goes missing all the same.
    expect(said <= given && sentences.allSatisfy { !letters($0).isEmpty }, "said \(said) letters of \(given)")
    if text.unicodeScalars.allSatisfy({ $0.isASCII }) { expect(said == given, "said \(said) letters of \(given)") }
}

func fuzzAnswerReading(_ input: FuzzInput) {
    let reading = AnswerReading(texts: PolicyTexts.of(["en", "ko", "ru"][input.choice(3)]), canTransfer: true)
    let text = input.text
    for kind in Question.Kind.allCases {
        let question = Question(
            id: "q1", text: "How many guests?", kind: kind, choices: kind == .choice ? ["Friday", "Saturday"] : [])
        for intent in [reading.intent(of: text, question: question), reading.intent(ofKeys: text, question: question)] {
            if case .answer(.number(let value)) = intent {
                expect(value.isFinite && !Answer.Value.number(value).text.isEmpty, "a number that is none: \(value)")
            }
            if case .answer(.text(let choice)) = intent, kind == .choice {
                expect(question.choices.contains(choice), "a choice that was not offered")
            }
        }
    }
    _ = reading.intent(of: text, question: nil)
    _ = PolicyTexts.fill(text, ["name": text])
}
