import ArgumentParser
import Bridge
import Foundation
import Realtime

/// `trunkline callee`
struct Callee: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "A callee to try calls with: answers by SIP, listens, and speaks as a persona.",
        discussion: "Prints one JSON object a line for everything that happens. Ends with SIGINT or SIGTERM.")

    @Option(help: "How it behaves: \(Persona.allCases.map(\.rawValue).joined(separator: ", ")).") var persona: Persona =
        .cooperative
    @Option(help: "IPv4 address.") var host = "127.0.0.1"
    @Option(help: "SIP port.") var port: UInt16 = 5090
    @Option(help: "First RTP port; two thousand are used.") var rtpPort: UInt16 = 30_000
    @Option(help: "Milliseconds it rings.") var ring = 300

    @Flag(help: "End when the process that started it ends.") var withParent = false

    func run() async throws {
        guard rtpPort < UInt16.max - 2_000 else { throw ValidationError("--rtp-port must be below 63535") }
        let server: CalleeServer
        do {
            server = try CalleeServer(
                host: host, port: port, persona: persona, ports: PortRange(rtpPort...(rtpPort + 2_000)), voice: .rms,
                ringMs: max(0, ring)
            ) { Self.print($0) }
        } catch {
            FileHandle.standardError.write(Data("trunkline callee: \(error)\n".utf8))
            throw ExitCode(1)
        }
        Self.print(["event": "ready", "address": "sip:callee@\(host):\(port)", "persona": persona.rawValue])
        let parent = getppid()
        let watch = Task { [withParent] in
            while withParent, getppid() == parent { try await Task.sleep(for: .seconds(1)) }
            if withParent { kill(getpid(), SIGTERM) }
        }
        await Signals.wait()
        watch.cancel()
        server.stop()
    }

    static func print(_ object: [String: any Sendable]) {
        guard
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return }
        FileHandle.standardOutput.write(data + Data("\n".utf8))
    }
}
