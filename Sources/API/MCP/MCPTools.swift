internal import Foundation
internal import JSON
internal import Logging
internal import Net
internal import Problems
internal import Store

/// The tools of `POST /mcp`, and how one is called.
struct MCPTools: Sendable {
    private static let nameLimit = 100

    private let services: Routes.Services
    /// In the order in which they are listed.
    let all: [MCPTool]

    init(services: Routes.Services) {
        self.services = services
        let calls = CallRoutes(services: services)
        let reading = MCPReadingTools(services: services, calls: calls)
        let placing = MCPPlacingTools(services: services, calls: calls)
        all = [
            reading.listAgents, placing.checkCall, placing.placeCall, reading.getCall, reading.getTranscript,
            reading.listCalls, placing.endCall,
        ]
    }

    /// `tools/list`: those that a role may call.
    func list(for role: Role) -> JSONValue {
        .array(all.filter { $0.role <= role }.map { $0.json(services.settings) })
    }

    /// `tools/call`: the result of the tool, or what is wrong with the call as a result that says so. A model reads
    /// results; errors of the protocol it does not see.
    func call(
        _ params: [String: JSONValue], _ principal: Principal, until deadline: ContinuousClock.Instant
    ) async throws(MCPFault) -> [String: JSONValue] {
        guard case .string(let name)? = params["name"] else {
            throw MCPFault(.invalidParams, "params.name must be a string")
        }
        guard let tool = all.first(where: { $0.name == name }) else {
            throw MCPFault(.invalidParams, "there is no tool \"\(name.prefix(Self.nameLimit))\"")
        }
        let arguments: [String: JSONValue]
        switch params["arguments"] {
        case nil, .null: arguments = [:]
        case .object(let given)?: arguments = given
        default: throw MCPFault(.invalidParams, "params.arguments must be an object")
        }
        do {
            guard principal.role >= tool.role else {
                throw APIError(403, "forbidden", .roleNeeded, ["role": .text(tool.role.rawValue)])
            }
            let result = try await tool.run(
                MCPCall(arguments: arguments, principal: principal, deadline: deadline))
            return Self.result(.object(result), isError: false)
        } catch let error as APIError {
            return Self.result(error.body, isError: true)
        } catch let error as StoreError {
            return Self.result(APIError(error).body, isError: true)
        } catch {
            services.logger.error("a tool failed: \(error)", metadata: ["tool": "\(tool.name)"])
            throw MCPFault(.internalError, ProblemCode.internalError.rawValue)
        }
    }

    private static func result(_ value: JSONValue, isError: Bool) -> [String: JSONValue] {
        [
            "content": [["type": "text", "text": .string(value.text)]], "structuredContent": value,
            "isError": .bool(isError),
        ]
    }
}

extension HTTPResponse {
    /// The members of an answer of ours.
    var members: [String: JSONValue] {
        guard case .bytes(let bytes) = body, case .object(let members)? = try? JSONValue(parsing: bytes) else {
            return [:]
        }
        return members
    }
}
