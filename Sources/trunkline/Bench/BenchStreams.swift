import ArgumentParser
import Bridge
import Foundation
import Net
import Pipeline
import Settings
import Store
import Synchronization

/// `trunkline bench streams`: media streams of a provider, with a speech model, as load on a server in another process.
struct BenchStreams: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "streams",
        abstract: "Provider streams with a speech model: added latency, barge-in, late frames, CPU and memory a call.",
        discussion: """
            The server is a process of its own, pinned to the last core where taskset is there; load and model run in \
            this one. A run whose send lag p99 is over 2 ms measures the machine, not the server: repeat it.
            """)

    @Option(help: "Calls at once; a comma-separated list makes a row of each.") var calls = "1,100,300"
    @Option(help: "Seconds that are measured, after all calls are up.") var seconds = 15
    @Option(help: "Event loops of the server.") var loops = 1
    @Flag(help: "Linear PCM at 24 kHz to and from the model.") var pcm = false
    @Flag(help: "With recordings.") var recording = false
    @Flag(help: "TLS on both sides: to the server, and from it to the model. Needs openssl.") var tls = false
    @Option(help: "HTTP port of the server; SIP takes the one above.") var port: UInt16 = 18_180
    @Option(help: "What the streams speak: \(Dialects.names.joined(separator: ", ")).")
    var dialect = Dialects.standard.traits.name
    @Option(help: "The sound, e.g. mulaw/8000 or l16/16000; the dialect's first if it is not given.")
    var format: String?
    @Flag(help: "Every dialect in turn, and each one's CPU time in proportion to the first one's.")
    var allDialects = false

    /// Nanoseconds from the first call to the last.
    private static let rampNs: Int64 = 3_000_000_000
    private static let settleSeconds = 4

    func run() async throws {
        let counts = calls.split(separator: ",").compactMap { Int($0) }
        guard !counts.isEmpty, counts.allSatisfy({ (1...5_000).contains($0) }), (1...600).contains(seconds),
            port < 65_000
        else {
            throw ValidationError("1…5000 calls, 1…600 seconds")
        }
        let plans = try plans()
        let head =
            "calls  added p50/p95/p99 ms  barge-in p50/p95 ms  late frames  missed stale  "
            + "CPU ms/call-s  RSS KiB/call  send lag p99 ms"
        guard allDialects else {
            print(head)
            for count in counts { _ = try await row(count, plans[0]) }
            return
        }
        print("dialect  format  " + head + "  CPU to the first")
        var first: [Int: Double] = [:]
        for plan in plans {
            for count in counts {
                print("\(plan.dialect.traits.name)  \(plan.format.text)  ", terminator: "")
                let cpu = try await row(count, plan, ends: "  ")
                let base = first[count] ?? cpu
                first[count] = base
                print(base > 0 ? String(format: "%.2f", cpu / base) : "-")
                fflush(nil)
            }
        }
    }

    /// What streams speak in a row.
    struct Plan: Sendable {
        var dialect: any MediaStreamDialect.Type
        var format: WireFormat
    }

    /// One, or one of each dialect. With `--format` those that have it.
    private func plans() throws -> [Plan] {
        guard let type = Dialects.named(dialect) else {
            throw ValidationError("--dialect is one of \(Dialects.names.joined(separator: ", "))")
        }
        let plans = (allDialects ? Dialects.all : [type]).compactMap { type -> Plan? in
            let wanted = type.traits.formats.first { format == nil || $0.text == format?.lowercased() }
            return wanted.map { Plan(dialect: type, format: $0) }
        }
        guard !plans.isEmpty else {
            throw ValidationError("--format is one of \(type.traits.formats.map(\.text).joined(separator: ", "))")
        }
        return plans
    }

    /// - Returns: the server's CPU time, ms a second and call.
    private func row(_ count: Int, _ plan: Plan, ends terminator: String = "\n") async throws -> Double {
        let certificate = tls ? try Certificate() : nil
        let modelLoop = try EventLoop(name: "model")
        let loadLoop = try EventLoop(name: "load", caFile: certificate?.certificate)
        modelLoop.start()
        loadLoop.start()
        let sessions = Confined(Sessions(), to: modelLoop)
        var configuration = HTTPServer.Configuration()
        configuration.port = 0
        configuration.tls = certificate.map { HTTPServer.TLS(certificate: $0.certificate, key: $0.key) }
        let model = HTTPServer(
            configuration, loops: [modelLoop], handler: { _ in HTTPResponse(status: 404) }, proves: { _ in true },
            upgradeCheck: { _ in 0 },
            socketHandler: { socket in
                sessions.value.all.append(MockModelSession(socket))
                return true
            })
        try model.start()
        let server = try await BenchServer(
            port: port, realtimeURL: "ws\(tls ? "s" : "")://localhost:\(model.port)/v1/realtime", loops: loops,
            pcm: pcm, recording: recording,
            certificate: certificate)
        // What loading the recognisers took is given back a little later.
        try await Task.sleep(for: .seconds(2))
        let idle = server.residentKilobytes()

        guard let url = WebSocketURL("ws\(tls ? "s" : "")://localhost:\(port)\(plan.dialect.traits.paths[0])"),
            let address = SocketAddress("127.0.0.1", port: port)
        else { return 0 }
        let load = Confined(Load(), to: loadLoop)
        let start = nowNs() + 200_000_000
        loadLoop.post {
            for index in 0..<count {
                load.value.add(
                    index, of: count, plan, url: url, address: address, loop: loadLoop, start: start,
                    ramp: Self.rampNs)
            }
        }
        let pacer = Pacer(start: start) { now in
            loadLoop.post { load.value.step(now) }
            modelLoop.post { for session in sessions.value.all { session.step(now) } }
        }
        try await Task.sleep(for: .seconds(Self.settleSeconds) + .nanoseconds(Self.rampNs))
        loadLoop.post { for call in load.value.calls { call.isMeasuring = true } }
        let cpu = server.cpuSeconds()
        let begun = nowNs()
        try await Task.sleep(for: .seconds(seconds))
        let used = server.cpuSeconds() - cpu
        let wall = Double(nowNs() - begun) / 1e9
        let peak = server.residentKilobytes()
        let measured = await withCheckedContinuation {
            (continuation: CheckedContinuation<[LoadCall.Measured], Never>) in
            loadLoop.post { continuation.resume(returning: load.value.calls.filter { !$0.isDead }.map(\.measured)) }
        }
        pacer.stop()
        server.stop()
        model.stop()
        loadLoop.stop()
        modelLoop.stop()
        let each = used * 1_000 / (Double(max(1, measured.count)) * wall)
        report(measured, count: count, cpu: each, kilobytes: peak - idle, ends: terminator)
        return each
    }

    private func report(
        _ measured: [LoadCall.Measured], count: Int, cpu: Double, kilobytes: Int, ends terminator: String
    ) {
        func figures(_ values: [Double], _ quantiles: [Double]) -> String {
            quantiles.map { quantile in Quantile.of(values, quantile).map { String(format: "%.1f", $0) } ?? "-" }
                .joined(separator: "/")
        }
        let open = measured.count
        let row = [
            "\(open)/\(count)", figures(measured.flatMap(\.addedMs), [0.5, 0.95, 0.99]),
            figures(measured.flatMap(\.clearMs), [0.5, 0.95]),
            "\(measured.reduce(0) { $0 + $1.lateFrames })/\(measured.reduce(0) { $0 + $1.frames })",
            "\(measured.reduce(0) { $0 + $1.missed })",
            "\(measured.reduce(0) { $0 + $1.stale })",
            String(format: "%.2f", cpu),
            "\(kilobytes / max(1, open))",
            figures(measured.flatMap(\.lagMs), [0.99]),
        ]
        print(row.joined(separator: "  "), terminator: terminator)
        fflush(nil)
    }

    /// The mock model's sessions; of its loop.
    private final class Sessions { var all: [MockModelSession] = [] }

    /// The calls, each with its own millisecond of the tick, so that they do not all speak at once; of its loop.
    private final class Load {
        private static let slots = 20
        private(set) var calls: [LoadCall] = []
        private var slots = [[LoadCall]](repeating: [], count: Load.slots)
        private var waiting: [(at: Int64, make: () -> LoadCall?)] = []
        private var lastSlot: Int64 = 0

        func add(
            _ index: Int, of count: Int, _ plan: Plan, url: WebSocketURL, address: SocketAddress, loop: EventLoop,
            start: Int64, ramp: Int64
        ) {
            let at = start + ramp * Int64(index) / Int64(count)
            waiting.append(
                (
                    at,
                    {
                        let start = LoadCall.start(index)
                        let headers = plan.dialect.headers(of: start).map { ($0.name, $0.value) }
                        return try? LoadCall(
                            index: index, socket: loop.connect(url, address: address, headers: headers), plan, start,
                            startsAt: at + 1_500_000_000 + Int64.random(in: 0...2_000_000_000))
                    }
                ))
        }

        /// Every millisecond that has passed has its slot.
        func step(_ now: Int64) {
            while let first = waiting.first, first.at <= now {
                waiting.removeFirst()
                guard let call = first.make() else { continue }
                calls.append(call)
                slots[call.index % Self.slots].append(call)
            }
            let millisecond = now / 1_000_000
            if lastSlot == 0 { lastSlot = millisecond - 1 }
            while lastSlot < millisecond {
                lastSlot += 1
                for call in slots[Int(lastSlot % Int64(Self.slots))] { call.tick(due: lastSlot * 1_000_000) }
            }
        }
    }
}

/// A certificate for `localhost`, signed by itself; gone with this object.
private final class Certificate: Sendable {
    private let folder = NSTemporaryDirectory() + "trunkline-bench-tls-\(UUID().uuidString)"
    var certificate: String { folder + "/certificate.pem" }
    var key: String { folder + "/key.pem" }

    init() throws {
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let openssl = Process()
        openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        openssl.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]
        openssl.standardError = FileHandle.nullDevice
        try openssl.run()
        openssl.waitUntilExit()
        guard openssl.terminationStatus == 0 else {
            throw ConfigurationError("openssl made no certificate: is it installed?")
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }
}

/// Calls back every millisecond, on a thread of its own.
private final class Pacer: Sendable {
    private let isStopped = Mutex(false)

    init(start: Int64, _ body: @escaping @Sendable (Int64) -> Void) {
        Thread.detachNewThread { [self] in
            while !isStopped.withLock({ $0 }) {
                usleep(1_000)
                body(nowNs())
            }
        }
    }

    func stop() { isStopped.withLock { $0 = true } }
}

/// `trunkline serve` as a child process, ready for streams without a token on loopback.
private final class BenchServer {
    private let process = Process()
    private let folder = NSTemporaryDirectory() + "trunkline-bench-\(UUID().uuidString)"

    init(port: UInt16, realtimeURL: String, loops: Int, pcm: Bool, recording: Bool, certificate: Certificate?)
        async throws
    {
        let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let cores = ProcessInfo.processInfo.processorCount
        let serve = [
            executable, "serve", "--http-port", String(port), "--sip-port", String(port + 1), "--data", folder,
        ]
        let canPin = loops == 1 && cores > 1 && FileManager.default.isExecutableFile(atPath: "/usr/bin/taskset")
        let command = canPin ? ["/usr/bin/taskset", "-c", String(cores - 1)] + serve : serve
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TRUNKLINE_") }.merging([
            "TRUNKLINE_AGENT_MODE": "realtime", "TRUNKLINE_AGENT_FALLBACK": "false",
            "TRUNKLINE_AGENT_SPEAKS_FIRST": "false",
            "TRUNKLINE_BRIDGE_OPEN_STREAMS": "true", "TRUNKLINE_REALTIME_OPENAI_URL": realtimeURL,
            "TRUNKLINE_REALTIME_OPENAI_FORMAT": pcm ? "pcm" : "mulaw", "TRUNKLINE_OUTBOUND_MAX_CALL_DURATION": "3600",
            "TRUNKLINE_OUTBOUND_AI_MAX_TURNS": "200", "TRUNKLINE_LOOPS": String(loops), "TRUNKLINE_LOG_LEVEL": "error",
            "TRUNKLINE_OUTBOUND_RESULT_SAVE_RECORDING": recording ? "true" : "false",
            "TRUNKLINE_API_KEY": "benchmark-key-on-loopback",
        ]) { $1 }
        if let certificate {
            process.environment?["TRUNKLINE_TLS_CERTIFICATE"] = certificate.certificate
            process.environment?["TRUNKLINE_TLS_KEY"] = certificate.key
            process.environment?["TRUNKLINE_TLS_CA_FILE"] = certificate.certificate
        }
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        for _ in 0..<300 {
            if Self.answers(port) { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        process.terminate()
        throw ConfigurationError("the server did not start: is port \(port) taken? (--port)")
    }

    private static func answers(_ port: UInt16) -> Bool {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(fd, $0, size) }
        } == 0
    }

    /// User and system time so far.
    func cpuSeconds() -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)) ?? ""
        guard let close = text.lastIndex(of: ")") else { return 0 }
        let fields = text[text.index(after: close)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    func residentKilobytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/statm", encoding: .utf8)) ?? ""
        return (Int(text.split(separator: " ").dropFirst().first ?? "0") ?? 0) * 4
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
