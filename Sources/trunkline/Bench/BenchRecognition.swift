import ArgumentParser
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
    @Option(help: "Codec of the line: \(TelephoneLine.Codec.allCases.map(\.rawValue).joined(separator: ", ")).")
    var codec = TelephoneLine.Codec.mulaw
    @Option(help: "Decibels of speech over noise; none: no noise.") var noise: Double?
    @Option(help: "Share of the line's packets that are lost, 0-1.") var loss = 0.0
    @Option(help: "Packets that are lost at a time.") var burst = 1
    @Option(help: "Sentences that are no answer, for each voice.") var others = 20
    @Option(help: "Folder of `make speech-pack`; where it has no model, pocketsphinx recognises.")
    var pack = SpeechPack.defaultFolder
    @Option(help: "File that keeps what was heard: it is not recognised again.") var heard: String?
    @Flag(
        help: ArgumentHelp(
            "Choose Moonshine's thresholds for each synthetic voice on all others.",
            discussion: "Needs --heard. --codec, --noise, --loss and --tries are of no account."))
    var leaveOneOut = false
    @Option(help: "Lines of --leave-one-out: \(TelephoneLine.usual.map(\.name).joined(separator: "; ")).")
    var lines = TelephoneLine.usual.count
    @Flag(help: "Print every dialogue.") var verbose = false

    func validate() throws {
        guard (0..<1).contains(loss), (1...50).contains(burst), (1...5).contains(tries), (0...200).contains(others)
        else {
            throw ValidationError("--loss is 0 to 1, --burst 1 to 50, --tries 1 to 5, --others 0 to 200")
        }
        guard (1...TelephoneLine.usual.count).contains(lines) else {
            throw ValidationError("--lines is 1 to \(TelephoneLine.usual.count)")
        }
        if leaveOneOut, heard == nil { throw ValidationError("--leave-one-out needs --heard FILE") }
        let unknown = groups.subtracting(RecognitionVoice.groups)
        guard unknown.isEmpty else {
            throw ValidationError(
                "--voices: \(unknown.sorted().joined(separator: ", ")) is none of "
                    + RecognitionVoice.groups.joined(separator: ", "))
        }
    }

    private var groups: Set<String> { Set(voices.split(separator: ",").map { String($0) }) }

    private static let worstPhrases = 12

    func run() async throws {
        var settings = LocalSpeechSettings()
        settings.packFolder = pack
        let recognizer = try await settings.recognizer(WorkerPool(name: "bench", threads: 1))
        let ear = try RecognitionEar(recognizer, path: heard)
        let installed = RecognitionVoice.installed(groups).filter { only.isEmpty || $0.name.contains(only) }
        let missing = groups.subtracting(installed.map(\.group)).sorted()
        if !missing.isEmpty, only.isEmpty { print("not installed: \(missing.joined(separator: ", "))") }
        print("recogniser: \(recognizer is MoonshineRecognizer ? "moonshine" : "pocketsphinx")")
        if leaveOneOut { try await chooseThresholds(ear, installed) } else { try await measure(ear, installed) }
    }

    private func measure(_ ear: RecognitionEar, _ installed: [RecognitionVoice]) async throws {
        let line = TelephoneLine(codec: codec, loss: loss, burst: burst, noise: noise)
        let dialogue = RecognitionDialogue(ear: ear, line: line, tries: tries)
        var byPhrase: [String: RecognitionTally] = [:], all = RecognitionTally()
        print(RecognitionTally.heading(tries: tries))
        for voice in installed {
            var own = RecognitionTally()
            for said in voice.isPerson ? RecognitionCase.recorded : RecognitionCase.answers {
                guard let outcome = try await dialogue.run(said, voice) else { continue }
                own.count(outcome)
                byPhrase[said.text, default: RecognitionTally()].count(outcome)
                if verbose { print("  \(voice.name)  \(said.text)  \(outcome)") }
            }
            for other in RecognitionCase.others(voice.isPerson ? 0 : others) {
                guard let value = try await dialogue.value(of: other, voice) else { continue }
                own.countForeign(isAccepted: value != nil)
                if let value { print("  \(voice.name)  \(other.text)  taken for \(value.text)") }
            }
            print(own.row(voice.name, tries: tries))
            all = all + own
        }
        print(all.row("all", tries: tries))
        print("by phrase, the worst first:")
        let worstFirst = byPhrase.sorted { ($0.value.rate, $0.key) < ($1.value.rate, $1.key) }
        for (phrase, tally) in worstFirst.prefix(Self.worstPhrases) { print(tally.row(phrase, tries: tries)) }
        print("no answers: \(all.foreign) sentences, \(all.accepted) taken for an answer")
        let seconds = await ear.heard
        if seconds > 0 { print("cost of recognition: \(await ear.cost / seconds) of real time") }
    }

    private func chooseThresholds(_ ear: RecognitionEar, _ installed: [RecognitionVoice]) async throws {
        let voices = installed.filter { !$0.isPerson }
        let choice = ThresholdChoice(ear, lines: Array(TelephoneLine.usual.prefix(lines)), others: others)
        var left = RecognitionTally()
        print(RecognitionTally.heading(tries: 2) + "  thresholds chosen on the others")
        for voice in voices {
            let limits = try await choice.best(for: voices.filter { $0 != voice })
            let tally = try await choice.tally(of: [voice], limits)
            print(tally.row(voice.name, tries: 2) + "  \(limits)")
            left = left + tally
        }
        print(left.row("all, each left out", tries: 2))
        print("no answers: \(left.foreign) sentences, \(left.accepted) taken for an answer")
        let limits = try await choice.best(for: voices)
        print(try await choice.tally(of: voices, limits).row("chosen on all", tries: 2) + "  \(limits)")
        print(try await choice.tally(of: voices, AnswerThresholds()).row("in use", tries: 2))
    }
}
