import ArgumentParser
import Realtime

/// `trunkline bench turns`: the end-of-turn policy over scripted callers, beside a plain silence.
struct BenchTurns: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "turns",
        abstract: "How often callers are interrupted and how long they wait, by words and by silence alone.")

    @Option(help: "The plain silence, ms.") var silence = 700

    /// What a caller says up to each pause, and how long that pause is, ms; the last one ends the turn. Punctuated as
    /// recognisers do it.
    private typealias Script = (language: String, kind: Question.Kind?, pieces: [(text: String, pauseMs: Int)])

    private static let scripts: [Script] = [
        ("en", .boolean, [("Yes.", 0)]), ("en", .boolean, [("Yes, I will be there.", 0)]),
        ("en", .boolean, [("No", 450), ("thank you.", 0)]),
        ("en", .boolean, [("Yes, but", 900), ("I will come later.", 0)]),
        ("en", .boolean, [("Um,", 800), ("I think so.", 0)]),
        ("en", .boolean, [("I would like to", 850), ("but I have to ask my wife first.", 0)]),
        ("en", .boolean, [("I'm not sure yet.", 0)]),
        ("en", .boolean, [("Sure.", 0)]), ("en", .boolean, [("Well, let", 750), ("me think about it.", 0)]),
        ("en", nil, [("I'd say", 500), ("around noon.", 0)]),
        ("en", .number, [("There are four of us.", 0)]),
        ("en", .number, [("We are", 800), ("let me see,", 1_100), ("six people.", 0)]),
        ("en", .number, [("Two", 0)]),
        ("en", .text, [("My number is five five five", 1_200), ("one two three", 1_100), ("four five six seven.", 0)]),
        ("en", .text, [("It's 010", 900), ("1234", 1_000), ("5678.", 0)]),
        ("en", .text, [("My name is", 800), ("Catherine Miller.", 0)]),
        ("en", .text, [("We live at 12", 600), ("Station Road.", 0)]),
        ("en", .text, [("I moved to a", 900), ("small town near the coast.", 0)]),
        ("en", .text, [("I'll take the soup and", 1_000), ("maybe the fish.", 0)]),
        ("en", .text, [("The first one, because", 950), ("it is cheaper.", 0)]),
        ("en", .date, [("On Friday.", 0)]), ("en", .date, [("Friday at", 750), ("half past seven.", 0)]),
        ("en", .date, [("Either Monday or", 1_000), ("Tuesday.", 0)]),
        ("en", .date, [("The twenty first of", 700), ("May.", 0)]), ("en", nil, [("Can you repeat that?", 0)]),
        ("en", nil, [("Who is this?", 0)]),
        ("en", nil, [("I don't know.", 0)]), ("en", nil, [("I heard that you", 800), ("closed last week.", 0)]),
        ("en", nil, [("What time does it start?", 0)]),
        ("en", nil, [("That's fine.", 500), ("Thank you.", 0)]),
        ("en", nil, [("It depends on the", 1_050), ("weather.", 0)]),
        ("ko", .boolean, [("네.", 0)]), ("ko", .boolean, [("네, 갈게요.", 0)]),
        ("ko", nil, [("그런데", 900), ("시간이 언제예요?", 0)]),
        ("ko", .text, [("제 번호는", 800), ("공 일 공", 1_000), ("일 이 삼 사", 1_100), ("오 육 칠 팔입니다.", 0)]),
        ("ko", nil, [("제가 생각하기에는", 950), ("괜찮을 것 같아요.", 0)]),
        ("ko", .date, [("금요일이요.", 0)]), ("ru", .boolean, [("Да, конечно.", 0)]),
        ("ru", nil, [("Я думаю, что", 900), ("приду.", 0)]),
        ("ru", .date, [("В пятницу или", 1_000), ("в субботу.", 0)]),
        ("ru", .text, [("восемь девять один", 1_100), ("два три четыре пять.", 0)]),
    ]

    func run() {
        let policy = EndOfTurnPolicy()
        report("plain silence of \(silence) ms") { _, _ in silence }
        report("by words, \(silence) ms where they say nothing") { script, text in
            policy.waitMs(
                text, expecting: script.kind.map { AnswerHints(kind: $0) }, language: script.language,
                silenceMs: silence)
        }
    }

    private func report(_ name: String, _ wait: (Script, String) -> Int) {
        var pauses = 0, cuts = 0, waits = 0
        for script in Self.scripts {
            var said = ""
            for piece in script.pieces {
                said += (said.isEmpty ? "" : " ") + piece.text
                let waitMs = wait(script, said)
                if piece.pauseMs == 0 {
                    waits += waitMs
                } else {
                    pauses += 1
                    if piece.pauseMs >= waitMs { cuts += 1 }
                }
            }
        }
        print(
            "\(name): \(cuts) of \(pauses) pauses taken for the end, "
                + "mean wait \(waits / Self.scripts.count) ms over \(Self.scripts.count) turns"
        )
    }
}
