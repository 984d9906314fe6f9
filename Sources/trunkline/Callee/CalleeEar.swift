import Net
import Pipeline
import Realtime
import Store

/// The callee's own recognition: what the AI says, against a loop over the sentences and words of the demo's script.
///
/// Nothing is shared with the server but the library: another process, another grammar, another decoder.
///
/// What it is given is worked off by one task, in the order it was given.
final class CalleeEar: Sendable {
    private enum Work: Sendable {
        case frames([EncodedFrame])
        case turnEnded(@Sendable (String) -> Void)
    }
    private let work: AsyncStream<Work>.Continuation
    /// Batches of 200 ms that may wait: a minute.
    private static let backlogLimit = 300

    /// What an AI of ours says beside the questions.
    private static let phrases = [
        "hello", "this is an automated assistant calling for riverside restaurant", "i am calling about the following",
        "to prepare the company dinner on friday", "thank you", "all right", "sorry i did not catch that",
        "please say yes or no or press one for yes and two for no", "please say the number or press it on your keypad",
        "that is all i needed to know", "thank you for your time", "goodbye", "are you still there",
        "i am sorry to disturb you", "we will try again another time", "i understand",
        "i am sorry i have the wrong number",
        "i cannot hear you so i will hang up now", "this is an automated assistant",
    ]

    /// A word alone costs much more than as part of a sentence: it only fills in what is no sentence of the script.
    init(model: AcousticModel) throws {
        let sentences = DemoScript.all.map { Self.words($0.text).joined(separator: " ") } + Self.phrases
        let words = Set(sentences.flatMap { $0.split(separator: " ").map(String.init) }).filter {
            model.knows(word: $0)
        }
        let known = sentences.filter { $0.split(separator: " ").allSatisfy { words.contains(String($0)) } }
        let decoder = try PocketSphinxDecoder(model: model, words: words)
        let grammar =
            "#JSGF V1.0;\ngrammar ear;\n<sentence> = \(known.joined(separator: " | "));\n"
            + "<word> = \(words.sorted().map { "/1e-20/ " + $0 }.joined(separator: " | "));\n"
            + "public <heard> = (<sentence> | <word>)+;\n"
        try decoder.select(grammar: "ear", text: grammar)
        let (stream, continuation) = AsyncStream<Work>.makeStream(bufferingPolicy: .bufferingNewest(Self.backlogLimit))
        work = continuation
        let workers = WorkerPool(name: "ear", threads: 1)
        Task { await Self.listen(to: stream, decoder: decoder, workers: workers) }
    }

    deinit { work.finish() }

    /// Frames of the AI's turn.
    func hear(_ frames: [EncodedFrame]) { work.yield(.frames(frames)) }

    /// The turn is over: `report` gets its words.
    func finish(_ report: @escaping @Sendable (String) -> Void) { work.yield(.turnEnded(report)) }

    private static func listen(to stream: AsyncStream<Work>, decoder: PocketSphinxDecoder, workers: WorkerPool) async {
        var chain = try? MuLawDecoder().then(Resampler(from: 8_000, to: 16_000))
        var isListening = false
        for await item in stream {
            switch item {
            case .frames(let frames):
                var audio: [AudioFrame] = []
                for frame in frames { try? chain?.process(frame, into: &audio) }
                let batch = audio
                let isFirst = !isListening
                isListening = true
                try? await workers.run {
                    if isFirst { try decoder.start() }
                    for frame in batch { frame.withSamples { decoder.process($0) } }
                }
            case .turnEnded(let report):
                chain?.flush()
                let text = isListening ? (try? await workers.run { decoder.finish().text }) ?? "" : ""
                isListening = false
                report(text)
            }
        }
        workers.stop()
    }

    static func words(_ text: String) -> [String] {
        text.lowercased().split { !($0.isLetter || $0 == "'") }.map(String.init)
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
