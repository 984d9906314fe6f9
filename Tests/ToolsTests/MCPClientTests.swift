import Foundation
import JSON
import Net
import Realtime
import Synchronization
import TestSupport
import Testing

@testable import Tools

/// The client against servers that say exactly what they are told to; those of the SDK are met end to end.
@Suite struct MCPClientTests {
    /// Answers each request by its method; notes what was asked.
    final class Peer: Sendable {
        typealias Answer = @Sendable (_ message: JSONValue, _ head: String) -> String
        private let heads = Mutex<[(head: String, message: JSONValue)]>([])
        private let server: ScriptedServer

        init(_ answer: @escaping Answer) {
            let box = Mutex<Peer?>(nil)
            server = ScriptedServer { connection, _ in
                let head = connection.receiveHead()
                let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
                let body = connection.receive(length ?? 0)
                let message = (try? JSONValue(parsing: Array(body.utf8))) ?? .null
                box.withLock { $0 }?.heads.withLock { $0.append((head, message)) }
                connection.send(answer(message, head))
            }
            box.withLock { $0 = self }
        }
        var url: String { server.url + "/mcp" }
        var asked: [(head: String, message: JSONValue)] { heads.withLock { $0 } }
        var methods: [String] {
            asked.map { if case .string(let method)? = $0.message["method"] { method } else { "" } }
        }
        func stop() { server.stop() }
    }

    static func http(_ body: String, status: String = "200 OK", type: String = "application/json", more: String = "")
        -> String
    {
        "HTTP/1.1 \(status)\r\ncontent-type: \(type)\r\ncontent-length: \(body.utf8.count)\r\n\(more)"
            + "connection: close\r\n\r\n\(body)"
    }

    static func result(_ message: JSONValue, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(message["id"]?.text ?? "null"),"result":\#(result)}"#
    }

    static func target(_ url: String) throws -> MCPClient.Target {
        let server = try MCPServer(["name": "sky", "url": .string(url), "timeout_ms": 3000], ToolAddresses())
        return MCPClient.Target(server: server, headers: [("x-key", "k")], secrets: ToolSecrets(), trace: nil)
    }

    static func client() -> MCPClient { MCPClient(client: HTTPClient(), addresses: ToolAddresses()) }

    static let weather = MCPListedTool(
        name: "weather", purpose: "", schema: ["type": "object"], state: .ok, revision: 1)

    @Test func aCallOfTheCurrentRevision() async throws {
        let peer = Peer { message, _ in
            Self.http(
                Self.result(message, #"{"content":[{"type":"text","text":"clear"}],"resultType":"complete"}"#))
        }
        defer { peer.stop() }
        var target = try Self.target(peer.url)
        target.trace = String(repeating: "ab", count: 16)
        let outcome = await Self.client().call(target, Self.weather, ["city": "Seoul"])
        #expect(outcome.result == ToolResult(output: #""clear""#) && outcome.kept == "clear")
        let asked = try #require(peer.asked.first)
        let lines = asked.head.components(separatedBy: "\r\n")
        for line in [
            "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: weather", "x-key: k",
            "accept: application/json, text/event-stream",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        let params = try #require(asked.message["params"])
        #expect(params["name"] == "weather" && params["arguments"] == ["city": "Seoul"])
        let meta = try #require(params["_meta"])
        #expect(meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28")
        #expect(meta["io.modelcontextprotocol/clientCapabilities"] == [:])
        #expect(meta["io.modelcontextprotocol/clientInfo"]?["name"] == "trunkline")
        #expect(meta["traceparent"] != nil && lines.contains { $0.hasPrefix("traceparent: 00-abab") })
    }

    /// Notifications and comments come before the response, and the stream stays open after it.
    @Test func aStreamOfEventsEndsWithTheResponse() async throws {
        let peer = Peer { message, _ in
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 90000\r\n\r\n: ping\n\n"
                + "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"
                + "event: message\ndata: \(Self.result(message, #"{"structuredContent":{"a":1},"content":[]}"#))\n\n"
        }
        defer { peer.stop() }
        let outcome = await Self.client().call(try Self.target(peer.url), Self.weather, [:])
        #expect(outcome.result.output == #"{"a":1}"# && outcome.result.status == "ok")
    }

    private static let deep = String(repeating: "[", count: 25) + String(repeating: "]", count: 25)

    @Test(arguments: [
        (#"{"resultType":"input_required","inputRequests":{}}"#, "not_available"),
        (#"{"content":[{"type":"text","text":"no"}],"isError":true}"#, "tool_error"),
        (#"{"structuredContent":\#(deep)}"#, "not_available"),
        (#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#, "ok"),
    ])
    func resultsOfOtherKinds(result: String, status: String) async throws {
        let peer = Peer { message, _ in Self.http(Self.result(message, result)) }
        defer { peer.stop() }
        let outcome = await Self.client().call(try Self.target(peer.url), Self.weather, [:])
        #expect(outcome.result.status == status)
    }

    /// A server of an older revision: asked in the current one once, and then in its own.
    @Test func anOlderServerIsFoundOutAndRemembered() async throws {
        let sessions = Mutex(0)
        let peer = Peer { message, head in
            guard !head.contains("2026-07-28") else {
                return Self.http(
                    #"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"x"}}"#, status: "400 Bad")
            }
            switch message["method"] {
            case "initialize":
                let number = sessions.withLock { sessions in
                    sessions += 1
                    return sessions
                }
                return Self.http(
                    Self.result(message, #"{"protocolVersion":"2025-06-18","capabilities":{}}"#),
                    more: "Mcp-Session-Id: s\(number)\r\n")
            case "notifications/initialized": return Self.http("", status: "202 Accepted")
            default:
                // The first session is forgotten.
                guard head.lowercased().contains("mcp-session-id: s2") else {
                    return Self.http("gone", status: "404 Not Found", type: "text/plain")
                }
                return Self.http(Self.result(message, #"{"content":[{"type":"text","text":"old"}]}"#))
            }
        }
        defer { peer.stop() }
        let client = Self.client(), target = try Self.target(peer.url)
        await client.ask(unused: target)
        #expect(client.era(of: peer.url) == .legacy(version: "2025-06-18", session: "s1"))
        #expect(await client.call(target, Self.weather, [:]).result.output == #""old""#)
        #expect(
            peer.methods == [
                "tools/call", "initialize", "notifications/initialized", "tools/call", "tools/call", "initialize",
                "notifications/initialized", "tools/call",
            ])
        #expect(peer.asked[3].head.contains("MCP-Protocol-Version: 2025-06-18\r\n"))
        await client.end(target)
        #expect(peer.asked.last?.head.hasPrefix("DELETE /mcp ") == true && client.era(of: peer.url) == nil)
    }

    /// A refusal of the current revision is no reason to ask in an older one.
    @Test(arguments: [-32_020, -32_021, -32_022]) func aModernRefusalIsFinal(code: Int) async throws {
        let peer = Peer { message, _ in
            let data = #"{"supported":["2027-01-01"],"requested":"2026-07-28"}"#
            return Self.http(
                #"{"jsonrpc":"2.0","id":\#(message["id"]?.text ?? "1"),"error":{"code":\#(code),"data":\#(data)}}"#,
                status: "400 Bad Request")
        }
        defer { peer.stop() }
        let outcome = await Self.client().call(try Self.target(peer.url), Self.weather, [:])
        #expect(outcome.result.status == "not_available" && peer.methods == ["tools/call"])
    }

    @Test func aListHasPagesAndHoldsForItsTime() async throws {
        let peer = Peer { message, _ in
            let isSecond = message["params"]?["cursor"] == "two"
            let tool = #"{"name":"\#(isSecond ? "b" : "a")","description":"d","inputSchema":{"type":"object"}}"#
            let properties = #"{"x":{"type":"number","x-mcp-header":"N"}}"#
            let bad = #"{"name":"bad","inputSchema":{"type":"object","properties":\#(properties)}}"#
            return Self.http(
                Self.result(message, #"{"tools":[\#(tool),\#(bad)],"nextCursor":"two","ttlMs":120000}"#))
        }
        defer { peer.stop() }
        let listing = try await Self.client().list(try Self.target(peer.url))
        // The cursor that comes again ends the list.
        #expect(listing.tools.map(\.name) == ["a", "bad", "b"] && listing.seconds == 120)
        #expect(listing.tools.map(\.state) == [.ok, .invalid, .ok] && peer.methods.count == 2)
    }

    @Test func argumentsGoIntoHeaders() throws {
        let schema: JSONValue = [
            "type": "object",
            "properties": [
                "region": ["type": "string", "x-mcp-header": "Region"], "n": ["type": "integer", "x-mcp-header": "N"],
                "deep": ["type": "object", "properties": ["on": ["type": "boolean", "x-mcp-header": "On"]]],
                "none": ["type": "string", "x-mcp-header": "None"],
            ],
        ]
        #expect(MCPHeaders.problem(with: schema) == nil)
        let found = MCPHeaders.headers(["region": "wést", "n": 3, "deep": ["on": true]], schema)
        #expect(
            found.map { "\($0.name): \($0.value)" } == [
                "Mcp-Param-On: true", "Mcp-Param-N: 3", "Mcp-Param-Region: =?base64?d8Opc3Q=?=",
            ])
        for bad: JSONValue in [
            ["type": "object", "x-mcp-header": "A"],
            ["type": "object", "properties": ["a": ["type": "number", "x-mcp-header": "A"]]],
            ["type": "object", "properties": ["a": ["type": "string", "x-mcp-header": "A B"]]],
            ["type": "object", "properties": ["a": ["type": "string", "x-mcp-header": 3]]],
            [
                "type": "object",
                "properties": ["a": ["type": "array", "items": ["type": "string", "x-mcp-header": "A"]]],
            ],
            [
                "type": "object",
                "properties": [
                    "a": ["type": "string", "x-mcp-header": "A"], "b": ["type": "string", "x-mcp-header": "a"],
                ],
            ],
        ] {
            #expect(MCPHeaders.problem(with: bad) != nil, "\(bad.text)")
        }
    }

    @Test func namesForPeopleAndForModels() {
        #expect(MCPName.forPeople("sky", "a.b/c") == "sky.a.b/c" && MCPName.forModels("sky", "a.b/c") == "sky__a_b_c")
        #expect(MCPName.split("sky.a.b")?.server == "sky" && MCPName.split("sky.a.b")?.tool == "a.b")
        #expect(MCPName.split("sky") == nil && MCPName.split("Sky.a") == nil && MCPName.split("sky.") == nil)
        for (pattern, fits) in [
            ("*", true), ("get_*", true), ("*_x", true), ("get", false), ("g*t*x", true), ("", false),
        ] {
            #expect(MCPName.fits("get_text_x", pattern) == fits, "\(pattern)")
        }
    }
}

extension MCPClient {
    /// A call whose result is of no interest: the session that it begins is forgotten by the server.
    fileprivate func ask(unused target: Target) async { _ = await call(target, MCPClientTests.weather, [:]) }
}
