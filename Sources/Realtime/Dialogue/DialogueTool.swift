internal import Foundation

/// The tools that a model may call: their names, their arguments, and their declaration.
public enum DialogueTool {
    /// Arguments: `TaskReport`.
    public static let reportTaskState = "report_task_state"
    /// Arguments: `EndCall`.
    public static let endCall = "end_call"
    /// Arguments: `SendDTMF`.
    public static let sendDTMF = "send_dtmf"
    /// Without arguments: the configuration names the operator.
    public static let transferToOperator = "transfer_to_operator"

    public struct EndCall: Sendable, Codable, Equatable {
        public var reason: String
        public init(reason: EndReason) { self.reason = reason.rawValue }
    }

    public struct SendDTMF: Sendable, Codable, Equatable {
        /// The most keys of one request.
        public static let limit = 32
        public var digits: String

        /// The keys in a tool call's arguments; nil: the arguments hold no valid keys.
        public static func keys(in arguments: String) -> String? {
            guard let request = try? JSONDecoder().decode(SendDTMF.self, from: Data(arguments.utf8)),
                (1...limit).contains(request.digits.count),
                request.digits.allSatisfy({ "0123456789*#ABCD".contains($0) })
            else { return nil }
            return request.digits
        }
    }

    /// The tools of a call, as JSON Schema.
    /// - Parameters:
    ///   - canTransfer: the call can be handed to an operator.
    ///   - canPress: keys can be pressed.
    public static func definitions(
        _ brief: Brief, canTransfer: Bool, canPress: Bool = true
    ) -> [DialogueToolDefinition] {
        let reasons = EndReason.allCases.filter {
            [.taskCompleted, .calleeBusy, .refused, .wrongNumber, .voicemail].contains($0)
        }.map { "\"\($0.rawValue)\"" }.joined(separator: ",")
        var tools = [
            DialogueToolDefinition(
                name: endCall, purpose: "Hang up. Call it after you have said goodbye.",
                parameters:
                    #"{"type":"object","properties":{"reason":{"type":"string","enum":[\#(reasons)]}},"#
                    + #""required":["reason"]}"#
            )
        ]
        if canPress {
            tools.append(
                DialogueToolDefinition(
                    name: sendDTMF, purpose: "Press keys on the telephone, for a voice menu.",
                    parameters:
                        ##"{"type":"object","properties":{"digits":{"type":"string","pattern":"^[0-9*#A-D]{1,32}$"}},"##
                        + ##""required":["digits"]}"##))
        }
        if canTransfer {
            tools.append(
                DialogueToolDefinition(
                    name: transferToOperator,
                    purpose:
                        "Put the other party through to a human colleague, when they ask for one. "
                        + "Tell them before you call it.",
                    parameters: #"{"type":"object","properties":{}}"#))
        }
        guard !brief.questions.isEmpty else { return tools }
        let ids = brief.questions.map { "\"\($0.id)\"" }.joined(separator: ",")
        tools.insert(
            DialogueToolDefinition(
                name: reportTaskState, purpose: "Report what is known after the other party's turn.",
                parameters: #"""
                    {"type":"object","properties":{"purpose_stated":{"type":"boolean"},\#
                    "asking":{"type":"string","enum":[\#(ids)]},\#
                    "questions":{"type":"array","items":{"type":"object","properties":{\#
                    "id":{"type":"string","enum":[\#(ids)]},\#
                    "status":{"type":"string","enum":["pending","answered","unclear","refused"]},\#
                    "answer":{"type":"string","description":"the other party's own words"},\#
                    "summary":{"type":"string"},\#
                    "value":{"type":["string","number","boolean"]},\#
                    "confidence":{"type":"number","minimum":0,"maximum":1}},\#
                    "required":["id","status"]}},"should_end_call":{"type":"boolean"}}}
                    """#), at: 0)
        return tools
    }
}

/// What a model decides by calling a tool. The meaning of each tool, and the results that the model gets, are defined
/// only here; both machines use them.
public enum DialogueDecision: Sendable, Equatable {
    /// What is known about the questions, as JSON of a `TaskReport`. `endsCall`: the call is over after this response,
    /// unless the response gives a reason of its own (`end`).
    case report(String, endsCall: Bool)
    /// The goodbye has been said, or is to be said now.
    case end(EndReason)
    /// The caller is to be handed to a person.
    case transfer
    /// Keys for a voice menu.
    case press(String)
    /// The arguments hold no keys.
    case noKeys
    /// A tool that this call does not offer.
    case unknown

    /// - Parameters:
    ///   - canTransfer: the call can be handed to an operator.
    ///   - canPress: keys can be pressed.
    public init(tool: String, arguments: String, canTransfer: Bool, canPress: Bool = true) {
        switch tool {
        case DialogueTool.reportTaskState:
            let report = try? JSONDecoder().decode(TaskReport.self, from: Data(arguments.utf8))
            self = .report(arguments, endsCall: report?.shouldEndCall == true)
        case DialogueTool.endCall:
            let request = try? JSONDecoder().decode(DialogueTool.EndCall.self, from: Data(arguments.utf8))
            self = .end(request.flatMap { EndReason(rawValue: $0.reason) } ?? .taskCompleted)
        case DialogueTool.transferToOperator where canTransfer: self = .transfer
        case DialogueTool.sendDTMF where canPress:
            self = DialogueTool.SendDTMF.keys(in: arguments).map { .press($0) } ?? .noKeys
        default: self = .unknown
        }
    }

    /// The JSON result of the call, for the model.
    /// - Parameters:
    ///   - tracker: what is known, the model's report included.
    ///   - wantsGoodbye: the model has called the tool without speaking, and speaks after it gets the result.
    public func output(_ tracker: TaskTracker, wantsGoodbye: Bool = false) -> String {
        switch self {
        case .report:
            let state: [String: Any] = ["ok": true, "pending": tracker.openQuestions]
            let data = try? JSONSerialization.data(withJSONObject: state, options: [.sortedKeys])
            return data.map { String(decoding: $0, as: UTF8.self) } ?? #"{"ok":true}"#
        case .end: return wantsGoodbye ? #"{"ok":true,"next":"say goodbye in one short sentence"}"# : #"{"ok":true}"#
        case .transfer: return #"{"ok":true,"status":"they are being put through"}"#
        case .press: return #"{"status":"requested; you are told if the line takes no keys"}"#
        case .noKeys: return #"{"error":"these are no keys"}"#
        case .unknown: return #"{"error":"there is no such tool"}"#
        }
    }

    /// The result for the model after keys have been sent, or could not be sent.
    public static func pressed(_ isTaken: Bool) -> String {
        isTaken ? #"{"ok":true}"# : #"{"error":"this line takes no keys"}"#
    }
}
