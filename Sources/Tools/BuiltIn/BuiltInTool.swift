internal import JSON
internal import Realtime

/// Tools that the server itself carries out, beside the dialogue's own (`DialogueTool`).
public enum BuiltInTool: String, Sendable, CaseIterable {
    case searchKnowledge = "search_knowledge"
    case scheduleCallback = "schedule_callback"
    case sendSMS = "send_sms"

    /// Names of the dialogue's own tools, which an agent may list too.
    public static let dialogue: Set<String> = [
        DialogueTool.endCall, DialogueTool.transferToOperator, DialogueTool.sendDTMF,
    ]

    /// As the model is told of it; nil: the call has not the means for it.
    func tool(_ means: ToolMeans, _ values: ToolValues) -> CallTool? {
        switch self {
        case .searchKnowledge: means.search == nil ? nil : SearchKnowledge.tool
        case .scheduleCallback: means.scheduleCall == nil ? nil : ScheduleCallback.tool(values)
        case .sendSMS: means.sendSMS == nil ? nil : SendSMS.tool
        }
    }

    func run(_ arguments: String, _ means: ToolMeans) async -> HTTPTool.Outcome {
        do {
            let schema: JSONValue =
                switch self {
                case .searchKnowledge: SearchKnowledge.schema
                case .scheduleCallback: ScheduleCallback.schema
                case .sendSMS: SendSMS.schema
                }
            let members = try ToolRequest.arguments(arguments, schema, isClosed: true)
            let told = try await TimeLimit.within(milliseconds: ToolMeans.timeoutMs) {
                switch self {
                case .searchKnowledge: try await SearchKnowledge.run(members, means)
                case .scheduleCallback: try await ScheduleCallback.run(members, means)
                case .sendSMS: try await SendSMS.run(members, means)
                }
            }
            return HTTPTool.Outcome(result: ToolResult(output: ToolOutput.text(told)), kept: told)
        } catch {
            return HTTPTool.Outcome(result: HTTPTool.failure(error).result(attempts: 1), kept: nil)
        }
    }
}
