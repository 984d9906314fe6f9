import ArgumentParser
import Foundation
import Pipeline
import Realtime

/// A voice of a speech synthesiser of Debian's, or a person's recordings.
struct RecognitionVoice: Hashable, Sendable {
    enum Maker: Hashable, Sendable {
        case flite(String)
        case espeak(String, speed: Int)
        case festival(String)
        /// Of `asterisk-core-sounds-en-wav`: digits, days, months.
        case recordings(folder: String)
    }

    var name: String
    var group: String
    var maker: Maker

    /// Those that are installed here.
    static func installed(_ groups: Set<String>) -> [RecognitionVoice] {
        all.filter { groups.contains($0.group) && $0.isInstalled }
    }

    static let groups = ["flite", "espeak", "festival", "recordings"]

    private static let all: [RecognitionVoice] =
        ["kal", "awb", "rms", "slt"].map { RecognitionVoice(name: "flite-\($0)", group: "flite", maker: .flite($0)) }
        + [
            ("us", "en-us", 160), ("gb", "en-gb", 160), ("f3", "en-us+f3", 160), ("m3", "en-us+m3", 160),
            ("f5-slow", "en-gb+f5", 140), ("scotland", "en-gb-scotland", 160), ("rp-fast", "en-gb-x-rp", 200),
            ("croak", "en-us+croak", 160), ("m7", "en-us+m7", 170), ("f1-fast", "en-us+f1", 190),
        ].map { RecognitionVoice(name: "espeak-\($0)", group: "espeak", maker: .espeak($1, speed: $2)) }
        + [
            ("kal", "voice_kal_diphone"), ("ked", "voice_ked_diphone"), ("hts", "voice_cmu_us_slt_arctic_hts"),
        ].map { RecognitionVoice(name: "festival-\($0)", group: "festival", maker: .festival($1)) }
        + [
            RecognitionVoice(
                name: "recordings-allison", group: "recordings",
                maker: .recordings(folder: "/usr/share/asterisk/sounds/en_US_f_Allison/digits"))
        ]

    var isPerson: Bool { if case .recordings = maker { true } else { false } }

    private var program: String {
        switch maker {
        case .flite: "/usr/bin/flite"
        case .espeak: "/usr/bin/espeak-ng"
        case .festival: "/usr/bin/text2wave"
        case .recordings(let folder): folder + "/1.wav"
        }
    }

    private var isInstalled: Bool {
        guard FileManager.default.fileExists(atPath: program) else { return false }
        // Festival starts without its voices too.
        guard case .festival = maker else { return true }
        return (try? speak("Yes.", variation: 0)) != nil
    }

    /// Speech, or nil where there is no recording of the text.
    /// - Parameter variation: 0 as it is; others speak faster or slower, higher or lower.
    func speak(_ text: String, variation: Int) throws -> (samples: [Int16], sampleRate: Int32)? {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("trunkline-\(UUID().uuidString).wav")
        defer { try? FileManager.default.removeItem(at: file) }
        let pace = [1.0, 1.12, 0.9][variation % 3], pitch = [1.0, 0.93, 1.08][variation % 3]
        let arguments: [String]
        switch maker {
        case .flite(let voice):
            arguments = [
                "-voice", voice, "--setf", "duration_stretch=\(pace)", "--setf",
                "int_f0_target_mean=\(Int(110 * pitch))", "-t", text, "-o", file.path,
            ]
        case .espeak(let voice, let speed):
            arguments = [
                "-v", voice, "-s", "\(Int(Double(speed) / pace))", "-p", "\(Int(50 * pitch))", "-w", file.path, text,
            ]
        case .festival(let voice):
            arguments = ["-eval", "(\(voice))", "-eval", "(Parameter.set 'Duration_Stretch \(pace))", "-o", file.path]
        case .recordings(let folder):
            guard let name = Self.recording(of: text) else { return nil }
            return try Self.read(folder + "/" + name + ".wav")
        }
        var input: String?
        if case .festival = maker { input = text }
        try Self.run(program, arguments, input: input)
        return try Self.read(file.path)
    }

    private static func recording(of text: String) -> String? {
        let plain = text.lowercased().filter { $0.isLetter || $0 == " " }
        let days = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        let months = [
            "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december",
        ]
        if let day = days.firstIndex(of: plain) { return "day-\(day)" }
        if let month = months.firstIndex(of: plain) { return "mon-\(month)" }
        if ["today", "tomorrow"].contains(plain) { return plain }
        let numbers = [
            "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
            "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
            "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
            "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
        ]
        return numbers[plain].map(String.init)
    }

    private static func read(_ path: String) throws -> (samples: [Int16], sampleRate: Int32) {
        let wave = try WaveFile(Array(Data(contentsOf: URL(fileURLWithPath: path))))
        return (wave.samples, wave.sampleRate)
    }

    private static func run(_ program: String, _ arguments: [String], input: String?) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardInput = input == nil ? FileHandle.nullDevice : pipe
        try process.run()
        if let input { pipe.fileHandleForWriting.write(Data(input.utf8)) }
        try pipe.fileHandleForWriting.close()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw ValidationError("\(program) failed") }
    }
}
