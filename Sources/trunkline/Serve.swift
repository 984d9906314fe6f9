import ArgumentParser
import Bridge
import Calls
import Delivery
import Foundation
import Logging
import Net
import Settings
import Store

/// `trunkline serve`
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs the server.",
        discussion: """
            Settings come from flags, the environment (TRUNKLINE_OUTBOUND_DEFAULT_GATEWAY for \
            outbound.default_gateway), .env and a YAML file, in this order. Without any, everything works on loopback \
            with the embedded engines.
            """)

    @OptionGroup var options: ServerOptions

    func run() async throws {
        let configuration = try options.read()
        let logger = Self.logger(configuration)
        let stop = Signals.stop()
        Self.allowFiles()
        Memory.tuneForServer()
        let server: Server
        do { server = try await Server.start(configuration, logger: logger) } catch {
            FileHandle.standardError.write(Data("trunkline: \(error)\n".utf8))
            throw ExitCode(1)
        }
        print("Trunkline \(Trunkline.version)")
        print("dashboard  \(server.address)/")
        print("SIP        \(configuration.sip.host):\(configuration.sip.port) (UDP, TCP)")
        if let key = server.newKey { print("API key    \(key)   (made now, shown only this once)") }
        if let secret = server.newWebhookSecret {
            print("webhooks   signed with \(secret)   (made now, shown only this once)")
        }
        if let refusal = configuration.serverCertificate?.refusal(at: Date()) {
            logger.warning("tls.certificate \(refusal): careful clients refuse it")
        }
        if configuration.store.encryptionKey == nil {
            logger.warning(
                "security.encryption_key is not set: transcripts, answers and numbers are stored as they are")
        }
        if configuration.calls.routing.isBoundToLoopback, configuration.calls.routing.allowedCallers == nil {
            logger.warning("outbound.allowed_callers is not set: on loopback any caller number is allowed")
        }
        fflush(nil)
        let reload = Signals.watch([SIGHUP]) {
            logger.notice("reading the certificate again")
            server.http.reloadCertificate()
        }
        for await _ in stop { break }
        reload.cancel()
        logger.notice("stopping: calls in progress are brought to their end")
        Self.endAfterLimit(logger)
        await server.stop()
    }

    /// Seconds from SIGTERM to the end of the process, whatever an event loop, a task or a library still does: the 20 s
    /// that calls have to end, their last words, and what is left to write. systemd's own limit is above it (deploy/).
    static let stopLimitSeconds = 30.0

    /// Ends the process when its orderly end takes too long. On a thread of its own: the tasks' threads may be the ones
    /// that wait.
    private static func endAfterLimit(_ logger: Logger) {
        let thread = Thread {
            Thread.sleep(forTimeInterval: stopLimitSeconds)
            logger.critical(
                "the server did not stop in time: the process ends now",
                metadata: ["seconds": "\(Int(stopLimitSeconds))"])
            _exit(1)
        }
        thread.name = "stop-limit"
        thread.start()
    }

    /// As many open files as the system lets us have: each call needs up to 8.
    private static func allowFiles() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0,
            limit.rlim_cur < min(limit.rlim_max, 65_536)
        else { return }
        // libwebsockets keeps tables of this size for each loop: no more than 16 loops of 500 calls use.
        limit.rlim_cur = min(limit.rlim_max, 65_536)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    static func logger(_ configuration: Configuration) -> Logger {
        var logger = Logger(label: "trunkline") { _ in
            LineLogHandler(logLevel: configuration.process.logLevel, isJSON: configuration.process.logsJSON)
        }
        logger.logLevel = configuration.process.logLevel
        return logger
    }
}

/// Options of every command that runs a server.
struct ServerOptions: ParsableArguments {
    @Option(help: "Configuration file (YAML).") var config: String?
    @Option(help: "TCP port of dashboard and API (8080).") var httpPort: UInt16?
    @Option(help: "UDP and TCP port of SIP (5060).") var sipPort: UInt16?
    @Flag(help: "A server of yours with TLS stands in front (http.behind_proxy).") var behindProxy = false
    @Option(help: "Folder of database and recordings (data).") var data: String?

    func read(extra: [(String, String)] = []) throws -> Configuration {
        do throws(ConfigurationError) {
            return try Configuration.read(
                file: config, flags: extra + flags(), environment: ProcessInfo.processInfo.environment)
        } catch {
            throw Self.failure(error)
        }
    }

    /// Key and value of the options that were given.
    func flags() -> [(String, String)] {
        var flags: [(String, String)] = []
        if let httpPort { flags.append(("http.port", String(httpPort))) }
        if let sipPort { flags.append(("sip.port", String(sipPort))) }
        if behindProxy { flags.append(("http.behind_proxy", "true")) }
        if let data { flags.append(("data", data)) }
        return flags
    }

    /// Says what is wrong with the configuration, and how the process is to end.
    static func failure(_ error: ConfigurationError) -> ExitCode {
        FileHandle.standardError.write(Data(error.problems.map { "trunkline: \($0)\n" }.joined().utf8))
        return ExitCode(1)
    }
}

/// SIGINT and SIGTERM as something to wait for.
enum Signals {
    /// An element for each signal from now on. Call this before the server can be seen to run, or a signal may be lost.
    static func stop() -> AsyncStream<Void> {
        signal(SIGPIPE, SIG_IGN)
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let watch = watch([SIGINT, SIGTERM]) { continuation.yield() }
        continuation.onTermination = { _ in watch.cancel() }
        return stream
    }

    static func wait() async { for await _ in stop() { return } }

    /// Calls `body` at each of these signals until it is cancelled.
    static func watch(_ numbers: [Int32], _ body: @escaping @Sendable () -> Void) -> Watch {
        Watch(
            sources: numbers.map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler(handler: body)
                source.resume()
                return Source(source)
            })
    }

    struct Watch: Sendable {
        fileprivate let sources: [Source]
        func cancel() { for source in sources { source.value.cancel() } }
    }

    /// Dispatch sources may be used from any thread, but are not marked so.
    fileprivate struct Source: @unchecked Sendable {
        let value: any DispatchSourceSignal
        init(_ value: any DispatchSourceSignal) { self.value = value }
    }
}
