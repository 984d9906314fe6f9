internal import JSON
public import Realtime

/// Why a tool gave no result, in words for the model. Never a URL, a header or a stack.
public enum ToolFailure: Error, Sendable, Equatable {
    case timeout
    /// The status of the tool's server.
    case status(Int)
    case invalidArguments(String)
    case refused(String)
    case notAvailable(String)

    public var code: String {
        switch self {
        case .timeout: "timeout"
        case .status(let status): "http_\(status)"
        case .invalidArguments: "invalid_arguments"
        case .refused: "refused"
        case .notAvailable: "not_available"
        }
    }

    public var message: String {
        switch self {
        case .timeout: "the tool did not answer in time"
        case .status: "the tool's server refused the request or failed"
        case .invalidArguments(let words), .refused(let words), .notAvailable(let words): words
        }
    }

    public func result(attempts: Int) -> ToolResult {
        let body: JSONValue = ["error": .string(code), "message": .string(message)]
        return ToolResult(status: code, output: ToolOutput.text(body), attempts: attempts)
    }
}
