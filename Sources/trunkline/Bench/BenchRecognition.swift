import ArgumentParser
import Bridge
import Foundation
import Pipeline
import Realtime

/// `trunkline bench recognition`: the embedded recogniser over synthetic telephone speech.
struct BenchRecognition: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recognition", abstract: "Short answers and other sentences through the embedded recogniser.")

    @Flag(help: "Print every utterance.") var verbose = false
    @Option(help: "Share of the line's packets that are lost, 0-1.") var loss = 0.0
    @Option(help: "Packets that are lost at a time.") var burst = 1

    func validate() throws {
        guard (0..<1).contains(loss), (1...50).contains(burst) else {
            throw ValidationError("--loss is 0 to 1, --burst 1 to 50")
        }
    }

    private static let inGrammar: [(kind: Question.Kind, texts: [String])] = [
        (
            .boolean,
            [
                "Yes.", "Yes please.", "Yes, I will be there.", "Yes, I have.", "Yes I do.", "No.", "No thank you.",
                "No, I can't make it.",
                "No, I haven't.", "Sure.",
                "That's correct.", "Can you repeat that?", "Who is this?", "I'm busy right now.",
                "You have the wrong number.",
                "Please stop calling me.", "I don't know.", "Call me back later.", "Hello, who is this?",
            ]
        ),
        (.number, ["Four people.", "Just two.", "Twenty five.", "Three.", "There are six of us."]),
        (
            .date,
            ["On Friday.", "Tuesday afternoon.", "At three thirty.", "Tomorrow morning.", "The twenty first of May."]
        ),
    ]
    private static let outOfGrammar = [
        "Purple monkey dishwasher.", "The weather is quite lovely over here in the mountains.",
        "My uncle used to sell bicycles.",
        "Elephant.", "Bananas are on the table.", "The train to London was late again.",
        "Interesting question, let us discuss politics.",
        "Where did I put my glasses?",
    ]

    func run() async throws {
        let workers = WorkerPool(name: "bench", threads: 2)
        let pool = DecoderPool(model: try AcousticModel(), workers: workers, limit: 1)
        try await pool.warmUp()
        var accepted = 0, right = 0, total = 0, rejected = 0, foreign = 0
        var line = LossyLine(loss: loss, burst: burst)
        var gaps: [Double] = [], foreignGaps: [Double] = [], cost = 0.0, seconds = 0.0
        var mean = [Double](repeating: 0, count: 13)
        for voice in FliteVoice.allCases {
            for (kind, texts) in Self.inGrammar {
                for text in texts {
                    let audio = try Self.telephone(text, voice: voice) { line.pass($0) }
                    let probe = try await pool.probe(audio, hints: AnswerHints(kind: kind))
                    total += 1
                    if probe.isAccepted { accepted += 1 }
                    if probe.isAccepted, Self.plain(probe.text) == Self.plain(text) { right += 1 }
                    gaps.append(probe.gap)
                    cost += probe.milliseconds
                    seconds += Double(audio.count) * 0.02
                    for (index, value) in probe.cepstralMean.enumerated() where index < 13 {
                        mean[index] += Double(value)
                    }
                    if verbose {
                        print(
                            String(
                                format: "%-6@ %6.2f %@ %@ → %@", voice.rawValue as NSString, probe.gap,
                                probe.isAccepted ? "ok " : "REJ", text,
                                probe.text))
                    }
                }
            }
            for text in Self.outOfGrammar {
                let probe = try await pool.probe(
                    try Self.telephone(text, voice: voice) { line.pass($0) }, hints: AnswerHints(kind: .boolean))
                foreign += 1
                if !probe.isAccepted { rejected += 1 }
                if !probe.text.isEmpty { foreignGaps.append(probe.gap) }
                if verbose {
                    print(
                        String(
                            format: "%-6@ %6.2f %@ %@ → %@", voice.rawValue as NSString, probe.gap,
                            probe.isAccepted ? "ACC" : "ok ", text, probe.text
                        ))
                }
            }
        }
        let q = { (list: [Double], f: Double) in Quantile.of(list, f) ?? 0 }
        if line.lost > 0 { print("lost: \(line.lost) of \(line.passed + line.lost) packets") }
        print("in grammar: \(total) utterances, accepted \(accepted), word for word right \(right)")
        print("out of grammar: \(foreign) utterances, rejected \(rejected)")
        print(
            String(
                format: "gap in grammar p50 %.1f p95 %.1f max %.1f; out of grammar min %.1f p50 %.1f", q(gaps, 0.5),
                q(gaps, 0.95), gaps.max() ?? 0,
                foreignGaps.min() ?? 0, q(foreignGaps, 0.5)))
        print(String(format: "cost %.3f of real time", cost / 1_000 / seconds))
        print("cepstral mean: " + mean.map { String(format: "%.2f", $0 / Double(total)) }.joined(separator: ", "))
    }

    static func plain(_ text: String) -> String {
        text.lowercased().filter { $0.isLetter || $0 == " " || $0 == "'" }
    }

    /// The sentence as it comes over the line: 8 kHz μ-law, 300 ms of silence in front, 200 behind, back to 16 kHz.
    /// - Parameter carry: what the line makes of each packet.
    static func telephone(_ text: String, voice: FliteVoice, carry: (EncodedFrame) -> EncodedFrame = { $0 }) throws
        -> [AudioFrame]
    {
        let speech = try voice.synthesize(text)
        let loud: (Int16) -> Bool = { $0 > 200 || $0 < -200 }
        let first = speech.samples.firstIndex(where: loud) ?? 0, last = speech.samples.lastIndex(where: loud) ?? 0
        let samples =
            [Int16](repeating: 0, count: 4_800) + speech.samples[first...last] + [Int16](repeating: 0, count: 3_200)
        var near = try Resampler(from: 16_000, to: 8_000).then(Framer(sampleRate: 8_000)).then(MuLawEncoder())
        var far = try MuLawDecoder().then(Resampler(from: 8_000, to: 16_000))
        var packets: [EncodedFrame] = [], audio: [AudioFrame] = []
        try near.process(samples: samples[...], sampleRate: 16_000, into: &packets)
        try near.finish(into: &packets)
        for packet in packets { try far.process(carry(packet), into: &audio) }
        try far.finish(into: &audio)
        return audio
    }
}

/// Loses packets and conceals them as a leg does; the same ones every time.
private struct LossyLine {
    private let loss: Double
    private let burst: Int
    private var dropping = 0
    private var state: UInt32 = 7
    private var concealment = Concealment()
    private(set) var passed = 0
    private(set) var lost = 0

    init(loss: Double, burst: Int) {
        self.loss = loss
        self.burst = burst
    }

    mutating func pass(_ packet: EncodedFrame) -> EncodedFrame {
        state = state &* 1_664_525 &+ 1_013_904_223
        if dropping == 0, Double(state) / Double(UInt32.max) < loss / Double(burst) { dropping = burst }
        guard dropping > 0 else {
            passed += 1
            concealment.heard(packet)
            return packet
        }
        dropping -= 1
        lost += 1
        return concealment.conceal(law: packet.law)
    }
}
