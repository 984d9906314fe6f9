import Foundation
import Settings

/// `trunkline callee` as a child process: its own SIP socket, its own recognition.
final class CalleeProcess: Sendable {
    private let process: Process
    /// Lines of the callee that wait to be taken; what is beyond is not shown.
    private static let lineLimit = 1_000

    /// Returns when the callee has said that it is ready; `onLine` gets every line after that.
    /// - Parameter cores: on which it runs, as taskset names them; nil: on those of this process.
    init(
        persona: Persona, port: UInt16, cores: String? = nil, onLine: @escaping @Sendable (Data) -> Void
    ) async throws {
        let process = Process()
        self.process = process
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let arguments = ["callee", "--persona", persona.rawValue, "--port", String(port), "--with-parent"]
        process.executableURL = cores == nil ? program : URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = (cores.map { ["-c", $0, program.path] } ?? []) + arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        do { try process.run() } catch { throw ConfigurationError("cannot start the callee: \(error)") }
        let lines = AsyncStream<Data>(bufferingPolicy: .bufferingOldest(Self.lineLimit)) { continuation in
            let handle = pipe.fileHandleForReading
            Thread.detachNewThread {
                var pending = Data()
                while true {
                    let data = handle.availableData
                    if data.isEmpty { break }
                    pending += data
                    while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(pending[pending.startIndex..<end])
                        pending = Data(pending[pending.index(after: end)...])
                    }
                }
                continuation.finish()
            }
        }
        var iterator = lines.makeAsyncIterator()
        guard await iterator.next() != nil else {
            throw ConfigurationError("the callee did not start: is UDP port \(port) taken? (--callee-port)")
        }
        Task { for await line in lines { onLine(line) } }
    }

    var identifier: Int32 { process.processIdentifier }

    func stop() { process.terminate() }
}
