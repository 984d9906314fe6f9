import Foundation
import Pipeline
import Realtime

/// One turn of a voice over a line.
struct RecognitionTurn: Hashable, Sendable {
    var voice: RecognitionVoice
    var text: String
    var variation: Int
    var hints: AnswerHints
    var line: TelephoneLine
}

/// The recogniser under test. What it heard may be kept in a file, so that thresholds can be compared and a long
/// measurement be done in parts.
actor RecognitionEar {
    typealias Transcript = (text: String, isUncertain: Bool)

    private let recognizer: any SpeechToText
    private var kept: [String: HeardTurn] = [:]
    private var file: FileHandle?
    /// Processor time of the recogniser and the sound that it was given, both in seconds.
    private(set) var cost = 0.0, heard = 0.0

    /// - Parameter path: of the file; nil: nothing is kept.
    init(_ recognizer: any SpeechToText, path: String?) throws {
        self.recognizer = recognizer
        guard let path else { return }
        guard recognizer is MoonshineRecognizer else {
            throw SpeechError("only what Moonshine hears can be kept: run `make speech-pack`")
        }
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 6, let text = Float(parts[5]) else { continue }
            let phrase = Float(parts[2]).flatMap { score in
                Float(parts[3]).map { HeardTurn.Phrase(text: parts[1], score: score, margin: $0) }
            }
            kept[parts[0]] = HeardTurn(phrase: phrase, text: parts[4], score: text)
        }
        file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file?.seekToEnd()
    }

    /// nil: the voice cannot say it.
    func hear(_ turn: RecognitionTurn, _ limits: AnswerThresholds) async throws -> Transcript? {
        guard let file else { return try await recognize(turn) }
        let key = Self.key(turn)
        if let known = kept[key] { return Self.transcript(limits.judge(known)) }
        guard let moonshine = recognizer as? MoonshineRecognizer, let audio = try Self.audio(turn) else { return nil }
        var samples: [Int16] = []
        for frame in audio { frame.withSamples { samples += $0 } }
        let found = try moonshine.hear(samples, turn.hints)
        kept[key] = found
        let phrase = found.phrase.map { [$0.text, "\($0.score)", "\($0.margin)"] } ?? ["", "", ""]
        let parts = [key] + phrase + [found.text.replacing("\t", with: " "), "\(found.score)"]
        try file.write(contentsOf: Data((parts.joined(separator: "\t") + "\n").utf8))
        return Self.transcript(limits.judge(found))
    }

    /// As a call does it.
    private func recognize(_ turn: RecognitionTurn) async throws -> Transcript? {
        guard let audio = try Self.audio(turn) else { return nil }
        let input = Edge<RecognizerInput>("toRecognizer", limit: audio.count + 3, whenFull: .dropOldest)
        let output = Edge<TranscriptEvent>("transcripts", limit: 64, whenFull: .dropOldest)
        input.offer(.expect(turn.hints))
        for frame in audio { input.offer(.audio(frame)) }
        input.offer(.turnEnded)
        input.finish()
        let before = Self.processorSeconds
        try await recognizer.run(from: input, to: output)
        cost += Self.processorSeconds - before
        heard += Double(audio.count) * 0.02
        output.finish()
        while case .data(let event)? = await output.next() {
            if case .final = event { return Self.transcript(event) }
        }
        return ("", false)
    }

    private static func audio(_ turn: RecognitionTurn) throws -> [AudioFrame]? {
        try turn.voice.speak(turn.text, variation: turn.variation).map { try turn.line.carry($0) }
    }

    private static func transcript(_ event: TranscriptEvent) -> Transcript {
        guard case .final(let text, _, let isUncertain) = event else { return ("", false) }
        return (text, isUncertain)
    }

    private static func key(_ turn: RecognitionTurn) -> String {
        let hints = ([turn.hints.kind.rawValue] + turn.hints.choices).joined(separator: ",")
        return [
            turn.line.name, turn.voice.name, "\(turn.variation)", hints, turn.hints.isConfirming ? "confirming" : "",
            turn.text,
        ].joined(separator: "|")
    }

    private static var processorSeconds: Double {
        var now = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
