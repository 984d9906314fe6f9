import ArgumentParser
import Foundation
import Pipeline
import Realtime

/// `trunkline bench recognition`: how well the embedded engines understand voices.
struct BenchRecognition: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recognition",
        abstract: "Answers of many voices through the embedded recogniser and dialogue, a question a call.",
        discussion:
            "A voice says an answer again when it is asked to, faster and slower, and says yes or no when it is "
            + "asked whether an answer was understood rightly.")

    @Option(help: "Groups of voices: \(RecognitionVoice.groups.joined(separator: ", ")).")
    var voices = RecognitionVoice.groups.joined(separator: ",")
    @Option(help: "Only voices whose name contains this.") var only = ""
    @Option(help: "How often a caller says an answer.") var tries = 3
    @Option(help: "Decibels of speech over noise; none: no noise.") var noise: Double?
    @Option(help: "Share of the line's packets that are lost, 0-1.") var loss = 0.0
    @Option(help: "Packets that are lost at a time.") var burst = 1
    @Option(help: "Sentences that are no answer, for each voice.") var others = 20
    @Option(help: "Folder of `make speech-pack`; where it has no model, pocketsphinx recognises.")
    var pack = SpeechPack.defaultFolder
    @Flag(help: "Print every dialogue.") var verbose = false

    func validate() throws {
        guard (0..<1).contains(loss), (1...50).contains(burst), (1...5).contains(tries), (0...200).contains(others)
        else {
            throw ValidationError("--loss is 0 to 1, --burst 1 to 50, --tries 1 to 5, --others 0 to 200")
        }
        let unknown = groups.subtracting(RecognitionVoice.groups)
        guard unknown.isEmpty else {
            throw ValidationError(
                "--voices: \(unknown.sorted().joined(separator: ", ")) is none of "
                    + RecognitionVoice.groups.joined(separator: ", "))
        }
    }

    private var groups: Set<String> { Set(voices.split(separator: ",").map { String($0) }) }

    private static let worstPhrases = 12

    /// Dialogues by their outcome.
    private struct Tally {
        var right: [Int: Int] = [:]
        var confirmed = 0, wrong = 0, unclear = 0
        var all: Int { right.values.reduce(0, +) + wrong + unclear }

        mutating func count(_ outcome: RecognitionDialogue.Outcome) {
            switch outcome {
            case .right(let tries, let isConfirmed):
                right[tries, default: 0] += 1
                if isConfirmed { confirmed += 1 }
            case .wrong: wrong += 1
            case .unclear: unclear += 1
            }
        }

        /// Share of the dialogues that were right by the second try.
        var rate: Double { Double(within(2)) / Double(max(1, all)) }

        func within(_ tries: Int) -> Int { right.reduce(0) { $1.key <= tries ? $0 + $1.value : $0 } }

        func row(_ name: String, tries: Int) -> String {
            let percent = { (count: Int) in String(format: "%.0f", 100 * Double(count) / Double(max(1, all))) }
            let columns =
                [name, "\(all)"] + (1...tries).map { percent(within($0)) }
                + [percent(confirmed), percent(unclear), percent(wrong)]
            return columns.joined(separator: "  ")
        }
    }

    func run() async throws {
        var settings = LocalSpeechSettings()
        settings.packFolder = pack
        let workers = WorkerPool(name: "bench", threads: 1)
        let recognizer = try await settings.recognizer(workers)
        let dialogue = RecognitionDialogue(
            recognizer: recognizer, line: TelephoneLine(loss: loss, burst: burst, noise: noise), tries: tries)
        let installed = RecognitionVoice.installed(groups).filter { only.isEmpty || $0.name.contains(only) }
        let missing = groups.subtracting(installed.map(\.group)).sorted()
        if !missing.isEmpty, only.isEmpty { print("not installed: \(missing.joined(separator: ", "))") }
        print("recogniser: \(recognizer is MoonshineRecognizer ? "moonshine" : "pocketsphinx")")
        var byVoice: [(String, Tally)] = [], byPhrase: [String: Tally] = [:], all = Tally()
        var accepted = 0, foreign = 0, seconds = 0.0, cost = 0.0
        for voice in installed {
            var own = Tally()
            var cases = RecognitionCase.answers
            if case .recordings = voice.maker { cases = RecognitionCase.recorded }
            for said in cases {
                guard let outcome = try await dialogue.run(said, voice) else { continue }
                own.count(outcome)
                all.count(outcome)
                byPhrase[said.text, default: Tally()].count(outcome)
                if verbose { print("  \(voice.name)  \(said.text)  \(outcome)") }
            }
            byVoice.append((voice.name, own))
            if case .recordings = voice.maker { continue }
            for other in RecognitionCase.others(others) {
                guard let speech = try voice.speak(other.text, variation: 0) else { continue }
                let audio = try dialogue.line.carry(speech)
                let before = Self.processorSeconds
                let heard = try await dialogue.recognize(
                    audio, AnswerHints(kind: other.question.kind, choices: other.question.choices))
                cost += Self.processorSeconds - before
                seconds += Double(audio.count) * 0.02
                foreign += 1
                let value = heard.isUncertain ? nil : EmbeddedPolicy.value(of: heard.text, question: other.question)
                if value != nil { accepted += 1 }
                if verbose, value != nil { print("  \(voice.name)  \(other.text)  taken for \(heard.text)") }
            }
        }
        print(
            (["voice", "answers"] + (1...tries).map { "right by \($0) %" }
                + ["confirmed %", "unclear %", "wrong %"]).joined(separator: "  "))
        for (name, tally) in byVoice { print(tally.row(name, tries: tries)) }
        print(all.row("all", tries: tries))
        print("by phrase, the worst first:")
        let worstFirst = byPhrase.sorted { ($0.value.rate, $0.key) < ($1.value.rate, $1.key) }
        for (phrase, tally) in worstFirst.prefix(Self.worstPhrases) { print(tally.row(phrase, tries: tries)) }
        print("no answers: \(foreign) sentences, \(accepted) taken for an answer")
        if seconds > 0 { print(String(format: "cost of these %.3f of real time", cost / seconds)) }
    }

    private static var processorSeconds: Double {
        var now = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
