internal import Foundation
public import Net

/// A live stream's messages as lines to read: of each its time, direction, name, size, sound and members, and what is
/// wrong with it by the dialect's rules. What a caller says is content: digits, parameters and whatever else is not the
/// protocol's own is shown only if that is asked for.
public struct TapLog: Sendable {
    /// Members that are the protocol's own, by the last of their names.
    private static let own: Set<String> = [
        "sequenceNumber", "sequence_number", "seq", "serverseq", "clientseq", "position", "chunk", "timestamp", "track",
        "encoding", "sampleRate", "sample_rate", "rate", "channels", "format", "content-type", "contentType", "mixType",
        "optimal_frame_size", "ptime", "version", "protocol", "streamSid", "stream_id", "streamId", "stream_sid", "id",
        "callSid", "call_sid", "callId", "call_control_id", "connection_id", "channel_id", "correlation_id",
        "queue_length", "queue_full", "code", "duration", "audioContentType",
    ]
    /// What contains content alone.
    private static let content: Set<String> = [
        "custom_parameters", "customParameters", "extra_headers", "channel_variables", "inputVariables",
        "outputVariables", "customConfig", "participant", "payload", "metadata", "dtmf",
    ]
    /// Members that are shown, characters of each, and how deep they are looked for.
    private static let memberLimit = 12
    private static let valueLimit = 64
    private static let depth = 3
    /// Rules whose problems are counted.
    private static let problemLimit = 64

    private var judge: ConformanceJudge
    private let showsContent: Bool
    private var numbers = (carrier: 0, application: 0)
    private var soundMs = (carrier: 0.0, application: 0.0)
    private var problems: [String: Int] = [:]

    public init(_ dialect: any MediaStreamDialect.Type, showsContent: Bool) {
        judge = ConformanceJudge(dialect)
        self.showsContent = showsContent
    }

    /// One line for the message, and one for each problem.
    /// - Parameter atMs: since the stream was open.
    public mutating func lines(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, from sender: WireMessage.Sender, atMs: UInt64
    ) -> [String] {
        let isCarrier = sender == .carrier
        if isCarrier { numbers.carrier += 1 } else { numbers.application += 1 }
        let message = WireMessage(
            bytes, kind, from: sender, number: isCarrier ? numbers.carrier : numbers.application, atMs: atMs,
            judge.context.shape)
        let found = judge.hear(message)
        var parts = [
            Self.time(atMs), isCarrier ? "carrier > server" : "carrier < server", kind == .text ? "text  " : "binary",
            message.name.map { String($0.printable.prefix(Self.valueLimit)) } ?? (kind == .text ? "-" : "sound"),
            "\(message.size) B",
        ]
        if let sound = message.sound, let format = judge.context.format {
            parts += self.sound(sound, format, isCarrier)
        }
        parts += members(of: message)
        for problem in found where problems[problem.rule] != nil || problems.count < Self.problemLimit {
            problems[problem.rule, default: 0] += 1
        }
        return [parts.joined(separator: "  ")] + found.map { "          ! \($0.rule): \($0.seen)" }
    }

    private mutating func sound(_ sound: [UInt8], _ format: WireFormat, _ isCarrier: Bool) -> [String] {
        let ms = Double(format.microseconds(ofBytes: sound.count)) / 1_000
        if isCarrier { soundMs.carrier += ms } else { soundMs.application += ms }
        let level = format.level(of: sound).map { "\(Int($0.rounded())) dB" } ?? "silence"
        return ["\(Self.short(ms)) ms", level]
    }

    private static func time(_ ms: UInt64) -> String { String(format: "%9.3f", Double(ms) / 1_000) }
    private static func short(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : String(format: "%.2f", number)
    }

    private func members(of message: WireMessage) -> [String] {
        if let rest = message.rest { return [showsContent ? String(rest.printable.prefix(Self.valueLimit)) : "…"] }
        guard let json = message.json else { return [] }
        var shown: [String] = []
        var hidden = 0
        let names = Set(judge.context.shape.nameKeys)
        func walk(_ value: WireValue, _ path: [String], _ isContent: Bool) {
            if case .object(let members) = value, path.count < Self.depth {
                for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                    walk(member, path + [name], isContent || Self.content.contains(name))
                }
                return
            }
            guard let name = path.last, let text = Self.text(value) else { return }
            if path.count == 1, names.contains(name) { return }
            if path.joined(separator: ".") == judge.context.shape.soundPath { return }
            let isOwn = Self.own.contains(name) || name == "name" && ["mark", "data"].contains(path.dropLast().last)
            guard showsContent || isOwn && !isContent else { return hidden += 1 }
            guard shown.count < Self.memberLimit else { return }
            shown.append("\(name.printable.prefix(Self.valueLimit))=\(text.prefix(Self.valueLimit))")
        }
        walk(json, [], false)
        if hidden > 0 { shown.append("(\(hidden) hidden)") }
        return shown
    }

    /// nil: it is null or an object.
    private static func text(_ value: WireValue) -> String? {
        switch value {
        case .text(let text): text.printable
        case .number(let number): short(number)
        case .flag(let flag): flag ? "true" : "false"
        case .list(let list): "[\(list.count)]"
        case .null, .object: nil
        }
    }

    /// What the stream was like, at its end.
    public var summary: [String] {
        func seconds(_ ms: Double) -> String { String(format: "%.1f s of sound", ms / 1_000) }
        var lines = [
            "\(numbers.carrier) messages to the server, \(seconds(soundMs.carrier)); "
                + "\(numbers.application) from it, \(seconds(soundMs.application))"
        ]
        lines += problems.sorted { $0.key < $1.key }.map { "\($0.value) messages against \($0.key)" }
        return lines
    }
}
