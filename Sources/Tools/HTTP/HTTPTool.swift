public import Foundation
public import JSON
public import Net
public import Realtime

/// Carries out HTTP tools.
public struct HTTPTool: Sendable {
    /// What came of a call: what the model is told, and what is kept for templates.
    public struct Outcome: Sendable {
        public var result: ToolResult
        /// nil: nothing came.
        public var kept: JSONValue?
        /// All of the answer; nil: nothing came, or it is another kind of tool.
        var answer: JSONValue?
    }

    /// The wait before another attempt, doubled with each, ms; and the longest that a server may ask for, s.
    private static let retryBaseMs = 250, retryAfterLimit = 10.0
    /// Answers that are worth another attempt.
    private static let passing: Set<Int> = [429, 502, 503, 504]

    let client: HTTPClient
    let addresses: ToolAddresses
    /// Signs the requests; nil: they are not signed.
    let signer: WebhookSecret?
    let now: @Sendable () -> Date

    public init(
        client: HTTPClient, addresses: ToolAddresses, signer: WebhookSecret?,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.client = client
        self.addresses = addresses
        self.signer = signer
        self.now = now
    }

    /// Comes back within the tool's own time, whatever happens.
    /// - Parameters:
    ///   - arguments: JSON text as the model wrote it.
    ///   - number: of this call of a tool within the telephone call: the same number twice is the same request.
    ///   - trace: the call's trace, 32 hex digits (W3C Trace Context).
    public func run(
        _ document: ToolDocument, arguments: String, values: ToolValues, secrets: ToolSecrets, number: String,
        trace: String
    ) async -> Outcome {
        let attempts = Attempts()
        do {
            var values = values
            let fixed = Set(document.fixed.keys)
            values.arguments = try ToolRequest.arguments(
                arguments, document.parameters.without(fixed).json, isClosed: true, fixed: fixed)
            let call = values.callID
            let request = try ToolRequest(document, values, secrets, addresses)
            let answer = try await TimeLimit.within(milliseconds: document.timeoutMs) {
                try await send(request, document, call: call, number: number, trace: trace, attempts)
            }
            let value = try ToolAnswer.read(secrets.scrubbed(answer.body), contentType: answer.contentType)
            let (kept, told) = ToolAnswer.mapped(value, document)
            let result = ToolResult(output: ToolOutput.text(told), attempts: await attempts.count)
            return Outcome(result: result, kept: kept, answer: value)
        } catch {
            return Outcome(result: Self.failure(error).result(attempts: await attempts.count), kept: nil)
        }
    }

    /// Requests that were made; the last of them may still be under way when the time is over.
    private actor Attempts {
        var count = 0
        func next() -> Int {
            count += 1
            return count
        }
    }

    private struct Answer: Sendable {
        var body: [UInt8]
        var contentType: String?
    }

    private func send(
        _ made: ToolRequest, _ document: ToolDocument, call: String, number: String, trace: String, _ attempts: Attempts
    ) async throws -> Answer {
        var request = made.request
        request.headers += [("idempotency-key", "\(call):\(number)"), ("x-trunkline-call", call)]
        let plain = request.headers
        request.allowsPrivateAddresses = addresses.allowsPrivate(request.url)
        request.connectTimeoutMs = document.timeoutMs
        // Later than our own limit, which is exact.
        request.responseTimeoutMs = document.timeoutMs + 1_000
        request.stallTimeoutMs = document.timeoutMs + 1_000
        let mayRepeat = document.isIdempotent || ToolDocument.isRepeatable(document.method)
        while true {
            let attempt = await attempts.next()
            request.headers = plain + [("traceparent", TraceParent.header(trace: trace))]
            if let signer {
                request.headers += signer.headers(id: "tool_\(call)_\(number)", at: now(), body: made.body)
            }
            let isLast = !mayRepeat || attempt > document.retries
            var wait = Double(Self.retryBaseMs << min(attempt - 1, 4))
            do {
                let response = try await client.send(request)
                guard !(200..<300).contains(response.status) else {
                    return Answer(
                        body: try await response.body.collect(limit: ToolAnswer.sizeLimit),
                        contentType: response.headers["content-type"])
                }
                guard !isLast, Self.passing.contains(response.status) else {
                    throw ToolFailure.status(response.status)
                }
                if let seconds = response.headers["retry-after"].flatMap(Double.init), seconds >= 0 {
                    wait = min(seconds, Self.retryAfterLimit) * 1_000
                }
            } catch let error as NetError {
                guard !isLast, [.cannotResolve, .cannotConnect, .closed].contains(error.code) else { throw error }
            }
            try await Task.sleep(for: .milliseconds(wait))
        }
    }

    /// What the model is told of an error; what the client says may name the address.
    static func failure(_ error: any Error) -> ToolFailure {
        switch error {
        case let failure as ToolFailure: return failure
        case is TimeLimit.Passed: return .timeout
        case let error as NetError:
            switch error.code {
            case .timedOut: return .timeout
            case .refused: return .refused("the tool's address may not be asked, or its server cannot be trusted")
            case .tooBig: return .notAvailable("the tool's answer is too large")
            default: return .notAvailable("the tool's server cannot be reached")
            }
        default: return .notAvailable("the tool cannot be used now")
        }
    }
}

/// `traceparent` (W3C Trace Context §3.2).
enum TraceParent {
    /// 32 hex digits.
    static func newTrace() -> String { hex(.random(in: 1 ... .max)) + hex(.random(in: 0 ... .max)) }

    static func header(trace: String) -> String { "00-\(trace)-\(hex(.random(in: 1 ... .max)))-01" }

    private static func hex(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
