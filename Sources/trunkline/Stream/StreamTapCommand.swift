import ArgumentParser
import Bridge
import Foundation
import Net

/// `trunkline stream tap`: between a carrier and a server.
struct StreamTapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Stands between a carrier and a server of media streams, and prints what they say to each other.",
        discussion: """
            Point the carrier at the tap, and the tap at the server. Query, headers, subprotocols and close codes are \
            passed on. Of sound the length and the loudness are printed. Ctrl-C ends it with a summary.
            """)

    @Option(help: "Port to listen on; 0: any.") var listen: UInt16
    @Option(help: "Address to listen on.") var host = "127.0.0.1"
    @Option(help: "The server behind it: a ws: or wss: URL.") var forward: String
    @Option(help: "The carrier's dialect: \(Dialects.names.joined(separator: ", ")).") var dialect: String?
    @Option(help: "A PEM file of certificates to trust for wss:, in place of the system's.") var ca: String?
    @Flag(help: "Print what callers say, too: digits, numbers and custom parameters.") var content = false

    /// For the summary to be read.
    private static let lastLines = DispatchTimeInterval.seconds(2)

    func run() async throws {
        let type = try StreamCommand.dialect(dialect)
        guard let url = WebSocketURL(forward) else { throw StreamCommand.fail("--forward is a ws: or wss: URL") }
        let ended = Signals.stop()
        let loop: EventLoop
        do { loop = try EventLoop(name: "tap", caFile: ca) } catch { throw StreamCommand.fail(error.message) }
        loop.start()
        let lines = LineWriter()
        let tap = StreamTap(type, forward: url, showsContent: content, on: loop) { lines.add($0) }
        var configuration = HTTPServer.Configuration()
        configuration.host = host
        configuration.port = listen
        let server = HTTPServer(
            configuration, loops: [loop], handler: { _ in HTTPResponse(status: 426) },
            // The server behind decides.
            proves: { _ in true },
            deferredUpgrade: { await tap.decide($0) })
        do { try server.start() } catch { throw StreamCommand.fail(error.message) }
        lines.add("listening on ws://\(host):\(server.port), Ctrl-C ends")
        for await _ in ended { break }
        server.stop()
        await tap.end()
        lines.finish(within: Self.lastLines)
    }
}
