internal import Foundation
internal import JSON
internal import Net
internal import Realtime

extension MCPClient {
    /// Tools of one server, and pages of a list.
    static let toolLimit = 200, pageLimit = 20
    /// Seconds for which a list holds where the server does not say, and the bounds of what it may say.
    static let usualSeconds = 3_600.0, secondsRange = 60.0...86_400.0

    struct Listing: Sendable {
        var tools: [MCPListedTool]
        /// Seconds for which it holds.
        var seconds: Double
    }

    /// The tools of a server, all pages of them.
    func list(_ target: Target) async throws -> Listing {
        try await TimeLimit.within(milliseconds: target.server.timeoutMs) { [self] in
            var tools: [MCPListedTool] = [], names: Set<String> = [], cursors: Set<String> = []
            var seconds = Self.usualSeconds, cursor: String?
            for _ in 0..<Self.pageLimit {
                let params: [String: JSONValue] = cursor.map { ["cursor": .string($0)] } ?? [:]
                let page = try await ask(target, "tools/list", params, limit: MCPExchange.listLimit)
                guard case .array(let items)? = page["tools"] else { throw MCPFailure(kind: .malformed) }
                for tool in items.compactMap(MCPListedTool.read) where names.insert(tool.name).inserted {
                    tools.append(tool)
                }
                guard tools.count <= Self.toolLimit else { throw MCPFailure(kind: .tooBig) }
                if case .number(let number)? = page["ttlMs"], let milliseconds = number.nearest {
                    seconds = min(max(milliseconds / 1_000, Self.secondsRange.lowerBound), Self.secondsRange.upperBound)
                }
                guard case .string(let next)? = page["nextCursor"], cursors.insert(next).inserted else { break }
                cursor = next
            }
            return Listing(tools: tools, seconds: seconds)
        }
    }

    /// Calls a tool; comes back within the server's time.
    func call(_ target: Target, _ tool: MCPListedTool, _ arguments: JSONValue) async -> HTTPTool.Outcome {
        do {
            let result = try await TimeLimit.within(milliseconds: target.server.timeoutMs) { [self] in
                try await ask(
                    target, "tools/call", ["name": .string(tool.name), "arguments": arguments], named: tool.name,
                    more: MCPHeaders.headers(arguments, tool.schema), limit: MCPExchange.callLimit)
            }
            return try Self.outcome(result)
        } catch {
            return HTTPTool.Outcome(result: Self.failure(error).result(attempts: 1), kept: nil)
        }
    }

    /// What the model is told of a result.
    static func outcome(_ result: JSONValue) throws(ToolFailure) -> HTTPTool.Outcome {
        // We declared no capability, so there is nothing that we could be asked for.
        if let type = result["resultType"], type != "complete" {
            throw .notAvailable("the tool asks for something that cannot be given here")
        }
        guard ToolAnswer.depth(result) <= ToolAnswer.depthLimit else {
            throw .notAvailable("the tool's answer is nested too deeply")
        }
        var texts: [String] = []
        if case .array(let blocks)? = result["content"] {
            texts = blocks.compactMap { if case .string(let text)? = $0["text"] { text } else { nil } }
        }
        let text = texts.joined(separator: "\n")
        let told: JSONValue
        if let structured = result["structuredContent"], structured != .null {
            told = structured
        } else if let value = try? JSONValue(parsing: Array(text.utf8)), ToolAnswer.depth(value) > 0 {
            told = value
        } else {
            told = .string(text)
        }
        let output = ToolOutput.text(result["isError"] == true ? ["error": "tool_error", "message": told] : told)
        let status = result["isError"] == true ? "tool_error" : "ok"
        return HTTPTool.Outcome(result: .init(status: status, output: output), kept: told)
    }

    static func failure(_ error: any Error) -> ToolFailure {
        guard let failure = error as? MCPFailure else { return HTTPTool.failure(error) }
        switch failure.kind {
        case .status(let status): return .status(status)
        case .error(MCPWire.invalidParams, _): return .invalidArguments("the tool does not take these arguments")
        case .error, .malformed: return .notAvailable("the tool's server gave no result")
        case .tooBig: return .notAvailable("the tool's answer is too large")
        case .deep: return .notAvailable("the tool's answer is nested too deeply")
        }
    }
}
