import Net
import Pipeline
import Realtime

/// The callee's own recognition: what the AI says, against a loop over the sentences and words of the demo's script.
///
/// Nothing is shared with the server but the library: another process, another grammar, another decoder.
actor CalleeEar {
    private let decoder: PocketSphinxDecoder
    private let workers = WorkerPool(name: "ear", threads: 1)
    private var chain: Chain<MuLawDecoder, Resampler>
    private var isListening = false
    private var work: Task<Void, Never>?

    /// What an AI of ours says beside the questions.
    private static let phrases = [
        "hello", "this is an automated assistant calling for riverside restaurant", "i am calling about the following",
        "to prepare the company dinner on friday", "thank you", "all right", "sorry i did not catch that",
        "please say yes or no or press one for yes and two for no", "please say the number or press it on your keypad",
        "that is all i needed to know", "thank you for your time", "goodbye", "are you still there",
        "i am sorry to disturb you", "we will try again another time", "i understand", "i am sorry i have the wrong number",
        "i cannot hear you so i will hang up now", "this is an automated assistant",
    ]

    /// A word alone costs much more than as part of a sentence: it only fills in what is no sentence of the script.
    init(model: AcousticModel) throws {
        let sentences = DemoScript.all.map { Self.words($0.text).joined(separator: " ") } + Self.phrases
        let words = Set(sentences.flatMap { $0.split(separator: " ").map(String.init) }).filter { model.knows(word: $0) }
        let known = sentences.filter { $0.split(separator: " ").allSatisfy { words.contains(String($0)) } }
        decoder = try PocketSphinxDecoder(model: model, words: words)
        let grammar =
            "#JSGF V1.0;\ngrammar ear;\n<sentence> = \(known.joined(separator: " | "));\n"
            + "<word> = \(words.sorted().map { "/1e-20/ " + $0 }.joined(separator: " | "));\npublic <heard> = (<sentence> | <word>)+;\n"
        try decoder.select(grammar: "ear", text: grammar)
        chain = try MuLawDecoder().then(Resampler(from: 8_000, to: 16_000))
    }

    static func words(_ text: String) -> [String] {
        text.lowercased().split { !($0.isLetter || $0 == "'") }.map(String.init)
    }

    /// A frame of the AI's turn.
    func hear(_ frames: [EncodedFrame]) async {
        var audio: [AudioFrame] = []
        for frame in frames { try? chain.process(frame, into: &audio) }
        let isFirst = !isListening
        isListening = true
        let decoder = decoder
        let batch = audio
        let before = work
        let workers = workers
        work = Task {
            await before?.value
            try? await workers.run {
                if isFirst { try decoder.start() }
                for frame in batch { frame.withSamples { decoder.process($0) } }
            }
        }
    }

    /// The turn is over: its words.
    func finish() async -> String {
        guard isListening else { return "" }
        isListening = false
        chain.flush()
        await work?.value
        work = nil
        let decoder = decoder
        return (try? await workers.run { decoder.finish().text }) ?? ""
    }

    /// The question of the script that was heard last: most of its words, in their order.
    static func question(in heard: String) -> DemoScript.Item? {
        let said = Array(words(heard).suffix(24))
        let scored = DemoScript.all.map { item -> (DemoScript.Item, Double) in
            let wanted = words(item.text)
            return (item, Double(longestCommon(wanted, said)) / Double(wanted.count))
        }.sorted { $0.1 > $1.1 }
        guard let best = scored.first, best.1 >= 0.6, scored.count < 2 || best.1 > scored[1].1 else { return nil }
        return best.0
    }

    /// Length of the longest common subsequence.
    private static func longestCommon(_ a: [String], _ b: [String]) -> Int {
        var row = [Int](repeating: 0, count: b.count + 1)
        for word in a {
            var diagonal = 0
            for index in b.indices {
                let above = row[index + 1]
                row[index + 1] = word == b[index] ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return row[b.count]
    }
}
