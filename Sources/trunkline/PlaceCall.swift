import ArgumentParser
import Foundation
import Net

/// `trunkline call`
struct PlaceCall: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Places a call through a running server, waits for its end and prints the result.",
        discussion: "Exits with 0 if the call completed and every required question was answered or refused.")

    @Argument(help: "The callee: a number, or sip:user@host[:port].") var callee: String
    @Option(help: "Why.") var purpose: String
    @Option(name: .customLong("question"), help: "What must be confirmed; may be given up to 20 times.") var questions:
        [String]
    @Option(help: "Number shown to the callee.") var caller = "025550100"
    @Option(help: "The name on whose behalf the AI calls.") var onBehalfOf = ""
    @Option(help: "Language, BCP 47.") var language: String?
    @Option(help: "The server.") var server = "http://127.0.0.1:8080"
    @Option(help: "API key; TRUNKLINE_API_KEY otherwise.") var apiKey: String?

    private static let client = HTTPClient()
    private var client: HTTPClient { Self.client }

    func run() async throws {
        guard let key = apiKey ?? ProcessInfo.processInfo.environment["TRUNKLINE_API_KEY"] else {
            throw ValidationError("give an API key: --api-key or TRUNKLINE_API_KEY")
        }
        var body: [String: Any] = [
            "caller_number": caller, "callee_number": callee, "purpose": purpose, "questions": questions,
        ]
        if !onBehalfOf.isEmpty { body["caller_display_name"] = onBehalfOf }
        if let language { body["language"] = language }
        let created = try await send("POST", "/api/outbound/", key: key, body: body)
        guard let id = created["outbound_id"] as? String else { throw fail("the server's answer has no outbound_id") }
        for warning in created["warnings"] as? [String] ?? [] {
            FileHandle.standardError.write(Data("\(warning)\n".utf8))
        }
        FileHandle.standardError.write(Data("\(id) queued\n".utf8))
        var shown = "queued"
        while true {
            let call = try await send("GET", "/api/outbound/\(id)", key: key)
            let state = call["state"] as? String ?? ""
            if state != shown {
                FileHandle.standardError.write(Data("\(id) \(state)\n".utf8))
                shown = state
            }
            if !["queued", "dialing", "ringing", "connected"].contains(state) { break }
            try await Task.sleep(for: .milliseconds(500))
        }
        let result = try await send("GET", "/api/outbound/\(id)/result", key: key)
        let data = try JSONSerialization.data(
            withJSONObject: result, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        print(String(decoding: data, as: UTF8.self))
        throw ExitCode(result["state"] as? String == "completed" && result["task_completed"] as? Bool == true ? 0 : 1)
    }

    private func send(_ method: String, _ path: String, key: String, body: [String: Any]? = nil) async throws
        -> [String: Any]
    {
        var request = HTTPClientRequest(method, server + path, headers: [("authorization", "Bearer \(key)")])
        // The server is the one that the command line names, as a rule on this machine.
        request.allowsPrivateAddresses = true
        if let body {
            request.body = Array(try JSONSerialization.data(withJSONObject: body))
            request.headers.append(("content-type", "application/json"))
        }
        let reply: HTTPClientReply
        do { reply = try await client.fetch(request, limit: 16 << 20) } catch {
            throw fail("cannot reach \(server): is `trunkline serve` running? (\(error))")
        }
        let object = (try? JSONSerialization.jsonObject(with: Data(reply.body))) as? [String: Any] ?? [:]
        guard reply.isSuccess else {
            let fields = (object["errors"] as? [[String: String]] ?? []).map {
                "\n  \($0["field"] ?? "") \($0["message"] ?? "")"
            }.joined()
            throw fail("\(object["detail"] as? String ?? "the server refused")\(fields)")
        }
        return object
    }

    private func fail(_ message: String) -> ExitCode {
        FileHandle.standardError.write(Data("trunkline call: \(message)\n".utf8))
        return ExitCode(1)
    }
}
