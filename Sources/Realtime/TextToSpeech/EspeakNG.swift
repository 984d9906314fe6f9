internal import Foundation

/// espeak-ng as a child process: Korean, Russian and a hundred others. It is GPL, so it is run, not linked.
public enum EspeakNG {
    /// Bytes of audio of one sentence; three minutes at 22 kHz.
    private static let outputLimit = 8 << 20
    /// Words a minute at the voice's own pace.
    private static let pace = 150.0
    /// Characters of one sentence handed over.
    private static let textLimit = 2_000

    static let path: String? = ["/usr/bin/espeak-ng", "/usr/local/bin/espeak-ng"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// 16-bit PCM of a sentence and its rate. Blocks for some 20 ms: run it on a worker.
    public static func synthesize(_ text: String, language: String, speed: Double = 1) throws(SpeechError) -> (
        samples: [Int16], sampleRate: Int32
    ) {
        guard let path else {
            throw SpeechError("espeak-ng is not installed: install the package espeak-ng to speak \(language)")
        }
        var input: [Int32] = [0, 0]
        var output: [Int32] = [0, 0]
        guard pipe2(&input) == 0 else { throw SpeechError("cannot make a pipe to espeak-ng") }
        guard pipe2(&output) == 0 else {
            close(input[0])
            close(input[1])
            throw SpeechError("cannot make a pipe to espeak-ng")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_adddup2(&actions, output[1], 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // The text goes by standard input: it is never an argument.
        let voice = String(LanguageTag.primary(language).prefix(3).filter { $0.isASCII && $0.isLetter })
        let wordsAMinute = Int(clampingDouble: (pace * speed).rounded())
        let words: [String] = ["espeak-ng", "-v", voice, "-s", String(wordsAMinute), "--stdin", "--stdout"]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child: pid_t = 0
        let failed = posix_spawn(&child, path, &actions, nil, &arguments, environ)
        close(input[0])
        close(output[1])
        guard failed == 0 else {
            close(input[1])
            close(output[0])
            throw SpeechError("cannot start \(path): \(String(cString: strerror(failed)))")
        }
        let bytes = Array(text.prefix(textLimit).utf8)
        _ = bytes.withUnsafeBytes { write(input[1], $0.baseAddress, $0.count) }
        close(input[1])
        var wave: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while wave.count < outputLimit {
            let count = read(output[0], &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            wave.append(contentsOf: chunk[..<count])
        }
        close(output[0])
        var status: Int32 = 0
        waitpid(child, &status, 0)
        guard status == 0, wave.count > 44 else {
            throw SpeechError("espeak-ng has no voice for the language \(language)")
        }
        let rate = Int32(wave[24]) | Int32(wave[25]) << 8 | Int32(wave[26]) << 16
        let samples = stride(from: 44, to: wave.count - 1, by: 2).map {
            Int16(bitPattern: UInt16(wave[$0]) | UInt16(wave[$0 + 1]) << 8)
        }
        return (samples, rate)
    }

    private static func pipe2(_ descriptors: inout [Int32]) -> Int32 {
        let result = pipe(&descriptors)
        if result == 0 { for fd in descriptors { _ = fcntl(fd, F_SETFD, FD_CLOEXEC) } }
        return result
    }
}
