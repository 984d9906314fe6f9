internal import Foundation
public import JSON
public import Realtime
internal import Store
internal import Synchronization

/// The tools of one call, as they were when it was made.
public final class CallToolBox: ToolBox {
    /// How a tool is carried out.
    enum Action: Sendable {
        case http(ToolDocument)
        case mcp(MCPServer, MCPListedTool)
        case builtIn(BuiltInTool)
    }

    private struct State {
        /// Results, by the tool's name.
        var kept: [String: JSONValue] = [:]
        /// Numbers of the calls of each tool.
        var numbers: [String: Set<String>] = [:]
    }

    public let tools: [CallTool]
    /// Names that were asked for and are not there.
    public let missing: [String]
    private let actions: [String: Action]
    /// Names for people, as agents write them, to names for models.
    private let names: [String: String]
    private let limits: [String: Int]
    private let values: ToolValues
    private let means: ToolMeans
    private let catalog: ToolCatalog
    private let company: CompanyID
    private let trace = TraceParent.newTrace()
    private let state = Mutex(State())

    /// A tool that was found.
    struct Found: Sendable {
        /// As agents write it.
        var name: String
        var tool: CallTool
        var action: Action
    }

    init(
        _ found: [Found], missing: [String], values: ToolValues, means: ToolMeans, catalog: ToolCatalog,
        company: CompanyID
    ) {
        var tools: [CallTool] = [], actions: [String: Action] = [:], names: [String: String] = [:]
        var missing = missing
        for entry in found {
            let name = entry.tool.name
            if names[entry.name] == name { continue }
            // Two tools of servers may come to one name; a name that is too long is none for a model.
            guard actions[name] == nil, name.utf8.count <= MCPName.modelLimit else {
                missing.append(entry.name)
                continue
            }
            tools.append(entry.tool)
            actions[name] = entry.action
            names[entry.name] = name
        }
        self.tools = tools
        self.actions = actions
        self.names = names
        self.missing = missing
        limits = Dictionary(tools.map { ($0.name, $0.limit) }) { first, _ in first }
        self.values = values
        self.means = means
        self.catalog = catalog
        self.company = company
    }

    public func call(_ name: String, arguments: String, number: Int) async -> ToolResult {
        await outcome(name, arguments: arguments, number: String(number)).result
    }

    /// What is kept of the results, for `{{tools.NAME.KEY}}`.
    public var results: [String: JSONValue] { state.withLock { $0.kept } }

    /// - Parameters:
    ///   - name: for models or for people.
    ///   - variables: more of them than the call had when it was made.
    func outcome(
        _ name: String, arguments: String, number: String, variables: [String: JSONValue] = [:]
    ) async -> HTTPTool.Outcome {
        let name = names[name] ?? name
        guard let action = actions[name] else {
            return failed(.notAvailable("there is no such tool"))
        }
        let limit = limits[name] ?? 1
        let isWithinLimit = state.withLock { state in
            state.numbers[name, default: []].insert(number)
            return state.numbers[name, default: []].count <= limit
        }
        guard isWithinLimit else { return failed(.refused("this tool has been called \(limit) times in this call")) }
        var values = values
        values.variables.merge(variables) { $1 }
        values.answers = means.answers()
        values.tools = results
        values.now = catalog.now()
        let outcome: HTTPTool.Outcome
        do {
            outcome = try await carryOut(action, arguments, values, number)
        } catch {
            outcome = failed(HTTPTool.failure(error))
        }
        if let kept = outcome.kept { state.withLock { $0.kept[name] = kept } }
        return outcome
    }

    private func carryOut(_ action: Action, _ arguments: String, _ values: ToolValues, _ number: String) async throws
        -> HTTPTool.Outcome
    {
        switch action {
        case .builtIn(let tool): return await tool.run(arguments, means)
        case .http(let document):
            // As they are now: one that was taken away is not to be sent any more.
            let secrets = try await catalog.secrets(company)
            return await catalog.http.run(
                document, arguments: arguments, values: values, secrets: secrets, number: number, trace: trace)
        case .mcp(let server, let tool):
            let members = try ToolRequest.arguments(arguments, tool.schema, isClosed: false)
            let target = try await catalog.target(server, company, trace: trace)
            return await catalog.mcp.call(target, tool, .object(members))
        }
    }

    private func failed(_ failure: ToolFailure) -> HTTPTool.Outcome {
        HTTPTool.Outcome(result: failure.result(attempts: 0), kept: nil)
    }
}
