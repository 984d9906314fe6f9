import ArgumentParser
import Bridge
import Foundation
import Net
import Pipeline
import Realtime

/// `trunkline stream check`: plays the carrier to any server of media streams.
struct StreamCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Plays a carrier to a server of media streams, and judges what the server does by the vendor's rules.",
        discussion: """
            The kit opens a stream as the carrier does, is silent, speaks, interrupts the answer, sends an unknown \
            message and a digit, and ends the stream. Exit codes: 0 no rule failed, 1 one failed, 2 nothing could \
            be checked.
            """)

    @Argument(help: "The server: a ws: or wss: URL.") var url: String?
    @Option(help: "The carrier's dialect: \(Dialects.names.joined(separator: ", ")).") var dialect: String?
    @Option(help: "A token that lets the stream in; it is put where the dialect's carrier puts it.") var token: String?
    @Option(help: "A secret with which the carrier signs the upgrade, where it does so.") var secret: String?
    @Option(help: "The URL that is signed, where the server knows itself by another one.") var signedURL: String?
    @Option(help: "A token for Authorization: Bearer of the upgrade.") var bearer: String?
    @Option(help: "user:password, for Authorization: Basic of the upgrade.") var basic: String?
    @Option(help: "'name: value', a header of the upgrade; may be repeated.") var header: [String] = []
    @Option(help: "name=value, custom data of the stream; may be repeated.") var parameter: [String] = []
    @Option(help: "The sound, e.g. mulaw/8000 or l16/16000; the dialect's first if it is not given.")
    var format: String?
    @Option(help: "Seconds that the conversation may take, 5 to 600.") var seconds = 30
    @Option(help: "Judge this rule alone.") var only: String?
    @Option(help: "A PEM file of certificates to trust for wss:, in place of the system's.") var ca: String?
    @Flag(help: "Print JSON.") var json = false
    @Flag(help: "Print the rules of the dialect and do nothing else.") var list = false

    private static let secondsRange = 5...600
    private static let sentence = "Hello. I have a question about my order, can you help me?"

    func run() async throws {
        let type = try StreamCommand.dialect(dialect)
        let names = ConformanceJudge(type).rules
        if list { return print(CheckText.list(names), terminator: "") }
        if let only, !names.contains(where: { $0.name == only }) {
            throw StreamCommand.fail("--only: \(type.traits.name) has no rule \(only); --list prints them")
        }
        guard let text = url, let url = WebSocketURL(text) else {
            throw StreamCommand.fail("the server is a ws: or wss: URL")
        }
        let plan = try plan(type, url)
        let loop: EventLoop
        do { loop = try EventLoop(name: "check", caFile: ca) } catch { throw StreamCommand.fail(error.message) }
        loop.start()
        let report = await withCheckedContinuation { (continuation: CheckedContinuation<CheckReport, Never>) in
            loop.post {
                StreamCheck(plan, on: loop, dialer: NetworkDialer(url, on: loop)) { continuation.resume(returning: $0) }
                    .run()
            }
        }
        loop.stop()
        if let reason = report.facts.unreachable { throw StreamCommand.fail("no answer from the server: \(reason)") }
        let shown = report.only(only)
        print(
            json ? CheckText.json(shown, dialect: type.traits.name, format: plan.announced) : CheckText.plain(shown),
            terminator: "")
        if shown.count(.fail) > 0 { throw ExitCode(1) }
    }

    func plan(_ type: any MediaStreamDialect.Type, _ url: WebSocketURL) throws -> CheckPlan {
        guard Self.secondsRange.contains(seconds) else { throw StreamCommand.fail("--seconds is 5 to 600") }
        var plan = CheckPlan(type, speech: try Self.speech())
        if let format {
            plan.format = type.traits.formats.first { $0.text == format.lowercased() }
            guard plan.format != nil else {
                let formats = type.traits.formats.map(\.text).joined(separator: ", ")
                throw StreamCommand.fail("--format is one of \(formats)")
            }
        }
        plan.token = token
        try sign(&plan, url)
        plan.limitMs = UInt64(seconds) * 1_000
        for text in header {
            guard let pair = Self.pair(text, ":"), !pair.name.isEmpty else {
                throw StreamCommand.fail("--header is 'name: value'")
            }
            plan.headers.append(pair)
        }
        for text in parameter {
            guard let pair = Self.pair(text, "="), !pair.name.isEmpty else {
                throw StreamCommand.fail("--parameter is name=value")
            }
            plan.parameters[pair.name] = pair.value
        }
        let query = url.path.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        plan.query = (try? HTTPForm.decode(query.utf8)) ?? []
        return plan
    }

    /// What the server asks for beside the token.
    private func sign(_ plan: inout CheckPlan, _ url: WebSocketURL) throws {
        if let bearer { plan.headers.append(("authorization", "Bearer " + bearer)) }
        if let basic {
            guard basic.contains(":") else { throw StreamCommand.fail("--basic is user:password") }
            plan.headers.append(("authorization", "Basic " + Data(basic.utf8).base64EncodedString()))
        }
        guard bearer == nil || basic == nil else { throw StreamCommand.fail("--bearer or --basic, not both") }
        guard [bearer, token].allSatisfy({ $0?.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ?? true }) else {
            throw StreamCommand.fail("a token has a space or a control character")
        }
        plan.url = url
        if let signedURL {
            plan.url = WebSocketURL(signedURL)
            guard plan.url != nil else { throw StreamCommand.fail("--signed-url is a ws: or wss: URL") }
        }
        plan.secret = secret
        guard let secret else { return }
        guard plan.canSign(secret) else {
            let name = plan.dialect.traits.name
            throw StreamCommand.fail(
                plan.dialect.traits.sign == nil
                    ? "--secret: this carrier signs no upgrades (\(name))"
                    : "--secret is none of this carrier's, or it needs --token, too (\(name))")
        }
    }

    private static func pair(_ text: String, _ separator: Character) -> (name: String, value: String)? {
        guard let index = text.firstIndex(of: separator), text.utf8.allSatisfy({ $0 >= 0x20 }) else { return nil }
        let value = text[text.index(after: index)...].trimmingCharacters(in: .whitespaces)
        return (text[..<index].trimmingCharacters(in: .whitespaces), value)
    }

    /// A sentence of the embedded voice, as frames of 20 ms.
    static func speech() throws -> [EncodedFrame] {
        let speech = try FliteVoice.rms.synthesize(sentence)
        var chain = try Resampler(from: speech.sampleRate, to: 8_000).then(Framer(sampleRate: 8_000))
            .then(MuLawEncoder())
        var frames: [EncodedFrame] = []
        try chain.process(samples: speech.samples[...], sampleRate: speech.sampleRate, into: &frames)
        try chain.finish(into: &frames)
        let loud = frames.indices.filter { frames[$0].peak > 1_000 }
        guard let first = loud.first, let last = loud.last else { return frames }
        return Array(frames[first...last])
    }
}

extension CheckPlan {
    /// As `--format` names it.
    var announced: String { (format ?? dialect.traits.formats[0]).text }
}

extension CheckReport {
    /// With one rule alone; nil: all.
    func only(_ name: String?) -> CheckReport {
        guard let name else { return self }
        var report = self
        report.rows.removeAll { $0.rule.name != name }
        return report
    }
}
