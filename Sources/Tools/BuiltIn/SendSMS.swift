internal import JSON
internal import Realtime

/// `send_sms {text}`: a text message to the other party, and to nobody else.
enum SendSMS {
    private static let textLimit = 600

    static let schema: JSONValue = [
        "type": "object",
        "properties": [
            "text": [
                "type": "string", "minLength": 1, "maxLength": .whole(textLimit), "description": "the whole message",
            ]
        ],
        "required": ["text"],
    ]
    static let tool = CallTool(
        name: BuiltInTool.sendSMS.rawValue,
        purpose: "Sends a text message to the other party's telephone, such as an address or a link they asked for.",
        parameters: schema.text, limit: 3)

    static func run(_ arguments: [String: JSONValue], _ means: ToolMeans) async throws -> JSONValue {
        guard let send = means.sendSMS, case .string(let text)? = arguments["text"] else {
            throw ToolFailure.notAvailable("no message can be sent")
        }
        do { try await send(text) } catch is CancellationError { throw CancellationError() } catch {
            // What the carrier says may hold the number.
            throw ToolFailure.notAvailable("the message could not be sent")
        }
        return ["sent": true]
    }
}
