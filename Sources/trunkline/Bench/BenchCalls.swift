import ArgumentParser
import Calls
import Foundation
import Net
import Pipeline
import Realtime
import Store
import Synchronization

/// `trunkline bench calls`: whole calls over SIP and RTP on loopback, embedded engines, callees in another process.
struct BenchCalls: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls", abstract: "Full calls at once: latency, barge-in, late RTP, CPU and memory a call.",
        discussion: """
            --persona load answers cheaply, so that this machine's cores are the server's; cooperative and interrupts \
            measure what a callee hears on the wire. What a core carries: taskset -c 0 trunkline bench calls \
            --callees-on 1 --calls 60 --every 250.
            """)

    @Option(help: "Calls at once.") var calls = 5
    @Option(help: "Rounds of so many calls.") var rounds = 1
    @Option(help: "The callees' persona.") var persona: Persona = .load
    @Option(help: "HTTP port; SIP and the callee take the two above.") var port: UInt16 = 18_080
    @Option(help: "Milliseconds from one call's start to the next.") var every = 100
    @Option(help: "Cores of the callees, as taskset names them; none: those of the server.") var calleesOn: String?
    @Option(help: "Folder of `make speech-pack`; where it has no model, pocketsphinx recognises.")
    var pack = SpeechPack.defaultFolder

    private struct Measured {
        var firstSample: [Double] = [], audible: [Double] = [], bargeIn: [Double] = [], worstGap: [Double] = []
    }

    func run() async throws {
        guard (1...500).contains(calls), (1...100).contains(rounds), port < 65_000, (1...10_000).contains(every) else {
            throw ValidationError("1…500 calls, 1…100 rounds, 1…10000 ms from call to call")
        }
        let folder = NSTemporaryDirectory() + "trunkline-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = try Configuration.read(
            file: nil,
            flags: [
                ("http.port", String(port)), ("sip.port", String(port + 1)), ("data", folder), ("log.level", "error"),
                ("outbound.max_concurrent_calls", String(calls)), ("outbound.retry.enabled", "false"),
                ("outbound.duplicate_window", "0"),
                ("outbound.calls_per_second", "0"), ("speech.pack_dir", pack),
            ], environment: [:])
        let server = try await Server.start(configuration, logger: Serve.logger(configuration))
        let measured = Mutex(Measured())
        let callee = try await CalleeProcess(persona: persona, port: port + 2, cores: calleesOn) { line in
            guard let event = (try? JSONSerialization.jsonObject(with: line)) as? [String: Any] else { return }
            measured.withLock {
                if let value = event["first_sample_ms"] as? Int { $0.firstSample.append(Double(value)) }
                if let value = event["audible_ms"] as? Int { $0.audible.append(Double(value)) }
                if let value = event["silent_after_ms"] as? Int { $0.bargeIn.append(Double(value)) }
                if let value = event["worst_rtp_gap_ms"] as? Int { $0.worstGap.append(Double(value)) }
            }
        }
        // The server has started: certificates are read on the loops, once.
        try? await Task.sleep(for: .seconds(1))
        let latenessBefore = await Self.lateness(of: server.loops)
        let memoryBefore = Self.residentKilobytes()
        var memoryPeak = memoryBefore
        let cpuBefore = Self.cpuSeconds()
        let partsBefore = Self.cpuByPart()
        let begun = ContinuousClock.now
        var ids: [String] = []
        for _ in 0..<rounds {
            var round: Set<String> = []
            for index in 0..<calls {
                let items = persona == .load ? [DemoScript.plain[0], DemoScript.plain[1]] : DemoScript.draw()
                let call = Call(
                    localNumber: "025550100", remoteNumber: "sip:c\(index)@127.0.0.1:\(port + 2)",
                    brief: Brief(
                        // No two calls begin with the same words.
                        purpose: DemoScript.purpose, callerDisplayName: "\(DemoScript.callerName) \(ids.count + 1)",
                        questions: items.enumerated().map { Question(id: "q\($0 + 1)", text: $1.text) }),
                    requestedBy: "bench", createdAt: Date())
                round.insert(call.id)
                ids.append(call.id)
                _ = try await server.dialler.create(call)
                try? await Task.sleep(for: .milliseconds(every))
            }
            while !round.isEmpty {
                try? await Task.sleep(for: .milliseconds(200))
                memoryPeak = max(memoryPeak, Self.residentKilobytes())
                for id in round {
                    if try await server.store.of(.default).call(id)?.state.isTerminal == true { round.remove(id) }
                }
            }
        }
        let wall = begun.duration(to: .now) / .seconds(1)
        let cpu = Self.cpuSeconds() - cpuBefore
        let parts = Self.cpuByPart().merging(partsBefore) { $0 - $1 }
        var finished: [Call] = []
        for id in ids { if let call = try await server.store.of(.default).call(id) { finished.append(call) } }
        let lateness = await Self.lateness(of: server.loops)
        // A call's SIP messages are stored half a second after its end.
        try? await Task.sleep(for: .seconds(1))
        callee.stop()
        await server.stop()

        let completed = finished.count { $0.state == .completed && $0.endReason == .taskCompleted }
        let callSeconds = finished.reduce(0.0) { $0 + ($1.duration(at: Date()) ?? 0) }
        let latencies = finished.flatMap(\.latencies)
        print(
            "calls \(finished.count), \(calls) at once, completed with all answers \(completed), "
                + "\(String(format: "%.0f", wall)) s"
        )
        print(
            "ticks \(lateness.ticks - latenessBefore.ticks), late by more than 20 ms "
                + "\(lateness.late - latenessBefore.late)")
        print(
            String(
                format: "CPU of the server %.2f s: %.1f ms a call-second, %.1f %% of a core", cpu,
                cpu * 1_000 / max(1, callSeconds), cpu / wall * 100
            ))
        for (part, seconds) in parts.sorted(by: { $0.value > $1.value }) where seconds > 0.005 {
            print(String(format: "  %@: %.2f ms a call-second", part, seconds * 1_000 / max(1, callSeconds)))
        }
        print(
            "memory \(memoryBefore / 1_024) MiB before, peak \(memoryPeak / 1_024) MiB: "
                + "\((memoryPeak - memoryBefore) / max(1, calls)) KiB a call"
        )
        func line(_ name: String, _ values: [Double]) {
            guard let p50 = Quantile.of(values, 0.5), let p95 = Quantile.of(values, 0.95) else { return }
            print("\(name): p50 \(Int(p50)) ms, p95 \(Int(p95)) ms, n \(values.count)")
        }
        line("on the wire, last packet of speech to first packet of ours", measured.withLock { $0.firstSample })
        line("on the wire, last packet of speech to first packet of ours over -50 dB", measured.withLock { $0.audible })
        line("  end-of-turn wait", latencies.map { Double($0.endOfTurnMs) })
        line("  speech to text", latencies.map { Double($0.speechToTextMs) })
        line("  dialogue", latencies.map { Double($0.languageModelMs) })
        line("  text to speech", latencies.map { Double($0.textToSpeechMs) })
        line("  queueing", latencies.map { Double($0.queueingMs) })
        line("  beyond the end-of-turn wait", latencies.map { Double($0.voiceToVoiceMs - $0.endOfTurnMs) })
        line("barge-in, first speech sample to silence on the wire", measured.withLock { $0.bargeIn })
        line("worst gap between two RTP packets of a call", measured.withLock { $0.worstGap })
    }

    private static func lateness(of loops: [EventLoop]) async -> (ticks: Int, late: Int) {
        var sum = (ticks: 0, late: 0)
        for loop in loops {
            let one = await withCheckedContinuation { continuation in
                loop.post { continuation.resume(returning: loop.lateness) }
            }
            sum.ticks += one.ticks
            sum.late += one.lateTicks
        }
        return sum
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    /// Seconds of CPU by what a thread does, told by its name.
    private static func cpuByPart() -> [String: Double] {
        let names = ["loop": "event loop: RTP, media path, graph", "spee": "recognition and synthesis", "sip": "SIP"]
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        var result: [String: Double] = [:]
        for thread in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? [] {
            guard let text = try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8),
                let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")")
            else { continue }
            // Behind the name: state is field 3, user and system time are 14 and 15.
            let fields = text[text.index(after: close)...].split(separator: " ")
            guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { continue }
            let name = text[text.index(after: open)..<close]
            let part = names.first { name.hasPrefix($0.key) }?.value ?? "store, dialler, everything else"
            result[part, default: 0] += (user + system) / ticks
        }
        return result
    }

    private static func residentKilobytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (Int(text.split(separator: " ").dropFirst().first ?? "0") ?? 0) * 4
    }
}
