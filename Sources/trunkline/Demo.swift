import API
import ArgumentParser
import Calls
import Foundation
import Logging
import Realtime
import Store

/// `trunkline demo`: one real call over loopback, shown as it happens.
struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Starts the server and a callee in another process, places a call over SIP, and shows it.",
        discussion: """
            The questions are drawn at random and come in random order; one of them is a decoy that must not be \
            answered with a stock yes. The callee chooses its answer by the question it has heard.
            """)

    /// Seconds until a call that does not end fails the demo.
    private static let limit = 90.0
    private static let templateName = "Company dinner"
    private static let keyMaker = "demo"

    @OptionGroup var options: ServerOptions
    @Flag(help: "End after the call; print the result as JSON, and succeed only if it is right.") var once = false
    @Option(help: "The callee's persona: cooperative, opposite, mumbles, …") var persona: Persona = .cooperative
    @Option(
        help:
            """
            Let a speech model hold the conversation: a ws: or wss: URL that speaks OpenAI Realtime (key: \
            OPENAI_API_KEY).
            """
    )
    var realtimeUrl: String?
    @Option(help: "The callee's SIP port.") var calleePort: UInt16 = 5099

    func run() async throws {
        var extra = [("outbound.retry.enabled", "false"), ("outbound.duplicate_window", "0"), ("log.level", "warning")]
        if options.data == nil { extra.append(("data", ".demo-data")) }
        if let realtimeUrl {
            extra += [("agent.mode", "realtime"), ("realtime.openai.url", realtimeUrl), ("agent.fallback", "false")]
        }
        let configuration = try options.read(extra: extra)
        let logger = Serve.logger(configuration)
        let server: Server
        do { server = try await Server.start(configuration, logger: logger) } catch { throw fail("\(error)") }

        let verbose = ProcessInfo.processInfo.environment["DEMO_VERBOSE"] != nil
        let callee: CalleeProcess
        do {
            callee = try await CalleeProcess(persona: persona, port: calleePort) { line in
                if verbose { FileHandle.standardError.write(line + Data("\n".utf8)) }
            }
        } catch { throw fail("\(error)") }
        defer { callee.stop() }

        let items = DemoScript.draw()
        let ours = realtimeUrl.map { "the speech model at \($0)" } ?? "the embedded engines"
        tell(
            "Trunkline \(Trunkline.version) demo: a real SIP call over loopback; "
                + "\(ours) here, embedded engines at the callee"
        )
        let questions = items.enumerated().map { Question(id: "q\($0 + 1)", text: $1.text) }
        let key =
            options.data == nil
            ? try await prepare(server, questions, isKeyless: configuration.access.adminKey == nil) : server.newKey
        tell("dashboard  \(server.address)/" + (key.map { "   API key \($0)" } ?? ""))
        tell("callee     sip:callee@127.0.0.1:\(calleePort), process \(callee.identifier), persona \(persona.rawValue)")
        for (index, item) in items.enumerated() { tell("question \(index + 1) \(item.text)") }
        tell("")

        let call = Call(
            localNumber: "025550100", remoteNumber: "sip:callee@127.0.0.1:\(calleePort)",
            brief: Brief(
                purpose: DemoScript.purpose, callerDisplayName: DemoScript.callerName,
                questions: questions),
            maxDuration: 120, requestedBy: "demo", createdAt: Date())
        let events = server.store.of(.default).watch()
        _ = try await server.dialler.create(call)
        let ended = await show(events, of: call.id)
        guard ended, let final = try await server.store.of(.default).call(call.id) else {
            throw fail("the call did not end within \(Int(Self.limit)) s")
        }
        let transcript = try await server.store.of(.default).transcript(of: call.id)

        tell("")
        tell("state \(final.state.rawValue), end reason \(final.endReason?.rawValue ?? "-"), \(final.summary ?? "")")
        for latency in final.latencies {
            tell(
                "turn: \(latency.voiceToVoiceMs) ms from the callee's last word to our first sample "
                    + "(end of turn \(latency.endOfTurnMs), speech to text \(latency.speechToTextMs), "
                    + "dialogue \(latency.languageModelMs), text to speech \(latency.textToSpeechMs), "
                    + "queueing \(latency.queueingMs))")
        }
        let wrong = verdict(final, items)
        for line in wrong { tell("WRONG: \(line)") }
        if wrong.isEmpty { tell("both answers are as the callee gave them") }

        if once {
            await server.stop()
            callee.stop()
            print(API.ResultText.of(final, transcript: transcript))
            throw ExitCode(wrong.isEmpty ? 0 : 1)
        }
        tell("result     \(server.address)/outbound/\(call.id)")
        tell(
            "try it     New call in the dashboard: \"Call my browser first\", or the callee above; "
                + "a template is there (\(Self.templateName))"
        )
        tell("the server keeps running; press Ctrl-C to end")
        await Signals.wait()
        await server.stop()
    }

    /// What makes a first look easy, in the demo's own folder: a template, and a key for a day, for the first one was
    /// shown once.
    /// - Returns: the key to log in with; nil where the configuration names it.
    private func prepare(_ server: Server, _ questions: [Question], isKeyless: Bool) async throws -> String? {
        let now = Date()
        if try await server.store.of(.default).templates().isEmpty {
            try await server.store.of(.default).save(
                CallTemplate(
                    name: Self.templateName, purpose: DemoScript.purpose, questions: questions,
                    callerDisplayName: DemoScript.callerName,
                    createdAt: now,
                    updatedAt: now))
        }
        guard isKeyless, server.newKey == nil else { return server.newKey }
        let store = server.store.of(.default)
        for old in try await store.keys() where old.createdBy == Self.keyMaker && old.revokedAt == nil {
            try await store.revokeKey(old.id, at: now)
        }
        let (key, stored) = Authenticator.makeKey(
            name: "demo", role: .admin, by: Self.keyMaker, at: now, expires: now.addingTimeInterval(86_400))
        try await store.insert(stored)
        return key
    }

    /// What the result must be for the persona; empty when all is right.
    private func verdict(_ call: Call, _ items: [DemoScript.Item]) -> [String] {
        var wrong: [String] = []
        if call.state != .completed { wrong.append("the call is \(call.state.rawValue): \(call.failureReason ?? "-")") }
        for (answer, item) in zip(call.answers, items) {
            switch persona {
            case .cooperative, .interrupts:
                if answer.status != .answered || answer.value != item.cooperative.value {
                    wrong.append("\(item.text) → \(answer.status.rawValue) \(answer.text ?? "")")
                }
            case .opposite:
                if answer.status != .answered || answer.value != item.opposite.value {
                    wrong.append("\(item.text) → \(answer.status.rawValue) \(answer.text ?? "")")
                }
            case .mumbles:
                if answer.status != .unclear {
                    wrong.append("\(item.text) → \(answer.status.rawValue) \(answer.text ?? "")")
                }
            default: break
            }
        }
        return wrong
    }

    /// Prints the call's events with their time until its end; false at the limit.
    private func show(_ events: AsyncStream<CallEvent>, of callID: String) async -> Bool {
        let start = ContinuousClock.now
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await event in events where event.callID == callID {
                    let at = start.duration(to: .now) / .seconds(1)
                    Self.show(event, at: at)
                    if ["outbound_completed", "outbound_ended", "outbound_failed", "outbound_cancelled"].contains(
                        event.name)
                    {
                        return true
                    }
                }
                return false
            }
            group.addTask {
                try? await Task.sleep(for: .seconds(Self.limit))
                return false
            }
            let first = await group.next() ?? false
            group.cancelAll()
            return first
        }
    }

    private static func show(_ event: CallEvent, at time: Double) {
        let stamp = String(format: "%6.2f s  ", time)
        let payload = (try? JSONSerialization.jsonObject(with: Data(event.payload.utf8))) as? [String: Any] ?? [:]
        switch event.name {
        case "outbound_transcript":
            guard let entry = payload["entry"] as? [String: Any] else { return }
            let speaker = entry["speaker"] as? String == "ai" ? "AI      " : "callee  "
            let text = entry["text"] as? String ?? ""
            let heard = entry["heard_text"] as? String
            tell(
                stamp + speaker + (text.isEmpty ? "(not understood)" : text) + (heard.map { "  [heard: \($0)]" } ?? ""))
        case "outbound_progress":
            guard let progress = payload["progress"] as? [String: Any] else { return }
            tell(stamp + "        answers \(progress["completed"] ?? 0) of \(progress["total"] ?? 0)")
        default: tell(stamp + event.name.replacing("outbound_", with: "") + "  " + (payload["reason"] as? String ?? ""))
        }
    }

    private func fail(_ message: String) -> ExitCode {
        FileHandle.standardError.write(Data("trunkline demo: \(message)\n".utf8))
        return ExitCode(1)
    }

    private static func tell(_ line: String) { FileHandle.standardError.write(Data((line + "\n").utf8)) }
    private func tell(_ line: String) { Self.tell(line) }
}
