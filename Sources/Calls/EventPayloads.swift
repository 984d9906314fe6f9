public import Foundation
internal import Realtime
public import Store

/// Payloads of events; the members are those of the API.
struct TranscriptPayload: Encodable {
    var timestamp: Double
    var end: Double
    var speaker: String
    var text: String
    var heardText: String?
    var interrupted: Bool?

    init(_ entry: TranscriptEntry) {
        timestamp = Double(entry.startMs) / 1_000
        end = Double(entry.endMs) / 1_000
        speaker = entry.speaker.rawValue
        text = entry.text
        heardText = entry.heardText
        interrupted = entry.speaker == .ai ? entry.isInterrupted : nil
    }
}

struct ProgressPayload: Encodable {
    struct Progress: Encodable {
        var total: Int
        var completed: Int
    }
    struct Item: Encodable {
        var questionId: String
        var status: String
        var answerText: String?
        var answerSummary: String?
        var value: Answer.Value?
        var confidence: Double?
    }
    var progress: Progress
    var answers: [Item]

    init(_ given: [Answer]) {
        progress = Progress(total: given.count, completed: given.count { $0.status != .pending })
        answers = given.map {
            Item(
                questionId: $0.questionID, status: $0.status.rawValue, answerText: $0.text, answerSummary: $0.summary,
                value: $0.value,
                confidence: $0.confidence)
        }
    }
}

struct AttemptPayload: Encodable {
    var attempt: Int
    var outcome: String
    var code: Int?
    var reason: String
    init(attempt: Int, outcome: AttemptOutcome) {
        self.attempt = attempt
        self.outcome = outcome.state.rawValue
        code = outcome.code
        reason = outcome.reason
    }
}

extension Call {
    /// `outbound_progress`, as at any other change of an answer.
    public func correctedEvent(at now: Date) -> CallEvent {
        CallEvent(
            kind: "progress", at: now, of: self, payload: CallEvent.payload(ProgressPayload(answers)))
    }
}

extension CallEvent {
    /// The event as clients receive it (docs/api.md): the payload's members beside the envelope's.
    public var envelope: String {
        let inner = payload.dropFirst().dropLast()
        // Names, ids and times hold nothing that JSON would have escaped.
        let head =
            #"{"id":\#(id),"event":"\#(name)","at":"\#(Self.time(at))","\#(direction.idName)":"\#(callID)""#
        return inner.isEmpty ? head + "}" : head + "," + inner + "}"
    }

    private struct ToolPayload: Encodable {
        var name: String
        var status: String?
        var ms: Int?
    }

    /// A tool works; what it was asked stands in the record alone.
    static func toolStarted(_ name: String, of call: Call, at now: Date) -> CallEvent {
        CallEvent(kind: "tool_started", at: now, of: call, payload: payload(ToolPayload(name: name)))
    }

    static func toolFinished(_ record: ToolCallRecord, of call: Call, at now: Date) -> CallEvent {
        let payload = payload(ToolPayload(name: record.name, status: record.status, ms: record.ms))
        return CallEvent(kind: "tool_finished", at: now, of: call, payload: payload)
    }

    private struct Completed: Encodable {
        var taskCompleted: Bool
        var summary: String?
        var endReason: String?
    }
    /// Names of the events that end a call.
    static let terminalNames = Set(
        ["completed", "ended", "failed", "cancelled"].flatMap {
            ["\(CallDirection.outbound)_\($0)", "\(CallDirection.inbound)_\($0)"]
        })

    private struct Analyzed: Encodable {
        var summary: String?
        var sentiment: String?
    }

    /// A model has summed the call up.
    static func analyzed(_ call: Call, at now: Date) -> CallEvent {
        CallEvent(
            kind: "analyzed", at: now, of: call,
            payload: payload(Analyzed(summary: call.summary, sentiment: call.sentiment?.rawValue)))
    }

    private struct Failed: Encodable {
        var reason: String
        var state: String
    }

    /// The one event that ends a call.
    static func terminal(of call: Call, at now: Date) -> CallEvent {
        let kind: String
        let payload: String
        switch call.state {
        case .completed:
            kind = call.endReason == .calleeHangup ? "ended" : "completed"
            payload = Self.payload(
                Completed(
                    taskCompleted: call.isTaskCompleted, summary: call.summary, endReason: call.endReason?.rawValue))
        case .cancelled:
            kind = "cancelled"
            payload = "{}"
        case .queued, .dialing, .ringing, .connected, .noAnswer, .busy, .rejected, .failed:
            kind = "failed"
            payload = Self.payload(
                Failed(reason: call.failureReason ?? call.state.rawValue, state: call.state.rawValue))
        }
        return CallEvent(kind: kind, at: now, of: call, payload: payload)
    }
}

/// A summary made of the answers, where no model makes one.
enum TemplateSummary {
    static func of(_ call: Call) -> String {
        guard !call.brief.questions.isEmpty else { return "Nothing was to be asked." }
        let settled = call.answers.count { $0.status == .answered }
        var lines = ["\(settled) of \(call.answers.count) questions answered."]
        for question in call.brief.questions {
            guard let answer = call.answers.first(where: { $0.questionID == question.id }) else { continue }
            let said =
                switch answer.status {
                case .answered: answer.summary ?? answer.text ?? "answered"
                case .unclear: "unclear"
                case .refused: "refused"
                case .notAsked, .pending: "not asked"
                }
            lines.append("\(question.text) \(said)" + (said.last?.isPunctuation == true ? "" : "."))
        }
        return lines.joined(separator: " ")
    }
}
