import Foundation
import JSON
import Net
import Realtime
import Synchronization
import TestSupport
import Testing

@testable import Tools

/// A tool against servers on loopback that say exactly what they are told to.
@Suite struct HTTPToolTests {
    static let signer = WebhookSecret.random()

    static func answer(_ body: String, status: String = "200 OK", type: String = "application/json") -> String {
        "HTTP/1.1 \(status)\r\ncontent-type: \(type)\r\ncontent-length: \(body.utf8.count)\r\n"
            + "connection: close\r\n\r\n\(body)"
    }

    /// - Parameter change: members in place of the plain document's.
    static func document(_ url: String, _ change: [String: JSONValue] = [:]) throws -> ToolDocument {
        let plain: [String: JSONValue] = [
            "name": "lookup", "description": "Looks up.",
            "parameters": ["type": "object", "properties": ["q": ["type": "string"], "n": ["type": "integer"]]],
            "request": ["url": .string(url)], "timeout_ms": 3000,
        ]
        return try ToolDocument(.object(plain.merging(change) { $1 }), ToolAddresses())
    }

    static func run(
        _ document: ToolDocument, _ arguments: String = #"{"q":"x"}"#, secrets: [String: String] = [:],
        addresses: ToolAddresses = ToolAddresses(), values: ToolValues? = nil
    ) async -> HTTPTool.Outcome {
        var given = values ?? ToolValues(callID: "ob-1", direction: "outbound", caller: "+4411", callee: "+4922")
        if values == nil { given.variables = ["tenant": "acme"] }
        return await HTTPTool(client: HTTPClient(), addresses: addresses, signer: signer).run(
            document, arguments: arguments, values: given, secrets: ToolSecrets(secrets), number: "3",
            trace: String(repeating: "ab", count: 16))
    }

    /// What a server was asked, head and body.
    private func asked(
        _ change: [String: JSONValue], _ arguments: String, secrets: [String: String] = [:], path: String = "/find"
    ) async throws -> (head: String, body: String, outcome: HTTPTool.Outcome) {
        let seen = Mutex(("", ""))
        let server = ScriptedServer { connection, _ in
            let head = connection.receiveHead()
            let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
            let body = connection.receive(length ?? 0)
            seen.withLock { $0 = (head, body) }
            connection.send(Self.answer(#"{"data":{"price":5,"summary":"five"}}"#))
        }
        defer { server.stop() }
        var change = change
        if case .object(var request)? = change["request"] {
            request["url"] = .string(server.url + path)
            change["request"] = .object(request)
        }
        let outcome = await Self.run(try Self.document(server.url + path, change), arguments, secrets: secrets)
        let (head, body) = seen.withLock { $0 }
        return (head, body, outcome)
    }

    @Test func aPostSendsArgumentsAndWhatIsFixed() async throws {
        let (head, body, outcome) = try await asked(
            [
                "fixed": ["caller": "{{caller.number}}"],
                "request": ["headers": ["Authorization": "Bearer {{secrets.crm}}", "X-T": "{{tenant}}"]],
                "parameters": [
                    "type": "object",
                    "properties": [
                        "q": ["type": "string"], "caller": ["type": "string"], "n": ["type": "integer", "default": 2],
                    ],
                ],
                "response": ["into": ["price": "/data/price"], "tell": "/data/summary"],
            ], #"{"q":"x","caller":"+666"}"#, secrets: ["crm": "s3cret-value"])
        #expect(body == #"{"caller":"+4411","n":2,"q":"x"}"#)
        #expect(head.hasPrefix("POST /find HTTP/1.1\r\n"))
        let lines = head.lowercased().components(separatedBy: "\r\n")
        for line in [
            "authorization: bearer s3cret-value", "x-t: acme", "idempotency-key: ob-1:3", "x-trunkline-call: ob-1",
            "content-type: application/json", "webhook-id: tool_ob-1_3",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        let trace = try #require(lines.first { $0.hasPrefix("traceparent: 00-abababab") })
        #expect(trace.wholeMatch(of: #/traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-01/#) != nil)
        let time = try #require(lines.first { $0.hasPrefix("webhook-timestamp: ") }.flatMap { Int64($0.dropFirst(19)) })
        let signature = Self.signer.signature(id: "tool_ob-1_3", timestamp: time, body: Array(body.utf8))
        #expect(head.contains("webhook-signature: " + signature))
        #expect(outcome.result == ToolResult(output: #""five""#, attempts: 1))
        #expect(outcome.kept == ["price": 5])
    }

    @Test func aGetSendsTheQuery() async throws {
        let (head, body, outcome) = try await asked(
            ["request": ["method": "GET", "query": ["t": "{{tenant}}"]]], #"{"q":"a&b","n":3}"#)
        #expect(head.hasPrefix("GET /find?t=acme&n=3&q=a%26b HTTP/1.1\r\n") && body.isEmpty)
        #expect(outcome.result.output == #"{"data":{"price":5,"summary":"five"}}"#)
    }

    @Test func formsAndTemplatesAreBodies() async throws {
        let form = try await asked(["request": ["body": "form"]], #"{"q":"a b","n":3}"#)
        #expect(form.body == "n=3&q=a%20b" && form.head.contains("application/x-www-form-urlencoded"))
        let template = try await asked(
            ["request": ["body": ["f": ["n": "{{arguments.n}}", "t": "q={{arguments.q}}", "k": "{{x|none}}"]]]],
            #"{"q":"z","n":3}"#)
        #expect(template.body == #"{"f":{"k":"none","n":3,"t":"q=z"}}"#)
    }

    /// Nothing is sent for arguments that are wrong.
    @Test(arguments: [
        "no JSON", "[1]", #"{"q":1}"#, #"{"n":1.5}"#, #"{"other":1}"#, #"{"q":"x","q":"y"}"#,
        #"{"q":"\#(String(repeating: "x", count: 70_000))"}"#,
    ])
    func badArgumentsNeverLeave(arguments: String) async throws {
        let server = ScriptedServer { _, _ in }
        defer { server.stop() }
        let outcome = await Self.run(try Self.document(server.url), arguments)
        #expect(outcome.result.status == "invalid_arguments" && outcome.result.attempts == 0)
        #expect(server.connections == 0 && outcome.kept == nil)
    }

    @Test func answersAreBounded() async throws {
        let limit = 64 << 10
        func deep(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        for (body, status) in [
            ("\"" + String(repeating: "x", count: limit - 2) + "\"", "ok"),
            ("\"" + String(repeating: "x", count: limit - 1) + "\"", "not_available"), (deep(20), "ok"),
            (deep(21), "not_available"), ("{\"a\":", "not_available"), ("", "ok"),
        ] {
            let server = ScriptedServer { connection, _ in
                _ = connection.receiveHead()
                connection.send(Self.answer(body))
            }
            defer { server.stop() }
            let result = await Self.run(try Self.document(server.url)).result
            #expect(result.status == status, "\(body.count)")
            #expect(result.output.count <= ToolResult.limit && !result.output.contains(server.url))
            #expect((try? JSONValue(parsing: Array(result.output.utf8))) != nil)
            if body.count == limit { #expect(result.output.hasSuffix("…[cut]\"") && result.output.count > 7_900) }
        }
    }

    @Test func aTextIsAResultToo() async throws {
        let server = ScriptedServer { connection, _ in
            _ = connection.receiveHead()
            connection.send(Self.answer("free at \"ten\"", type: "text/plain"))
        }
        defer { server.stop() }
        #expect(await Self.run(try Self.document(server.url)).result.output == #""free at \"ten\"""#)
    }

    /// A server that tells our secret back does not bring it into the conversation.
    @Test func aSecretDoesNotComeBack() async throws {
        let server = ScriptedServer { connection, _ in
            let isSent = connection.receiveHead().contains("s3cret-value")
            connection.send(Self.answer(#"{"you sent":"\#(isSent ? "Bearer s3cret-value" : "")"}"#))
        }
        defer { server.stop() }
        let document = try Self.document(
            server.url, ["request": ["url": .string(server.url), "headers": ["X-Key": "{{secrets.crm}}"]]])
        let result = await Self.run(document, secrets: ["crm": "s3cret-value"]).result
        #expect(result.output == #"{"you sent":"Bearer [secret]"}"#)
        #expect(await Self.run(document).result.status == "not_available")
        let secrets = ToolSecrets(["crm": "s3cret-value"])
        var dumped = ""
        dump(secrets, to: &dumped)
        #expect(!"\(secrets)\(String(reflecting: secrets))\(dumped)".contains("s3cret"))
    }
}
