internal import Foundation

/// A request to another server.
public struct HTTPClientRequest: Sendable {
    public var method: String
    /// `http:` or `https:`.
    public var url: String
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]?
    /// Milliseconds for name, connection and TLS.
    public var connectTimeoutMs = 5_000
    /// Milliseconds from the start to the response's head.
    public var responseTimeoutMs = 30_000
    /// Maximum milliseconds between two pieces of the body, while a reader waits for them.
    public var stallTimeoutMs = 30_000
    /// Redirects that are followed, to http and https only.
    public var redirectLimit = 0
    /// False for a URL that a user set: it must not lead into our own network. Checked on the address connected to,
    /// whatever the name said before; such a request uses no proxy.
    public var allowsPrivateAddresses = true
    /// Sending it twice does what sending it once does, so that `fetch` may try again.
    public var isRepeatable: Bool

    public init(_ method: String, _ url: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        isRepeatable = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"].contains(method)
    }

    /// A form, as `POST` (WHATWG URL §5).
    public static func form(_ url: String, _ fields: [(name: String, value: String)]) -> HTTPClientRequest {
        HTTPClientRequest(
            "POST", url, headers: [("content-type", HTTPForm.contentType)], body: Array(HTTPForm.encode(fields).utf8))
    }

    /// Basic authentication (RFC 7617).
    public mutating func authenticate(user: String, password: String) {
        headers.append(("authorization", "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()))
    }
}

/// The head of a response, and its body as it comes.
public struct HTTPClientResponse: Sendable {
    public var status: Int
    /// Lower-case names; of several values the last.
    public var headers: [String: String]
    public var body: HTTPBody

    /// The body as events (`text/event-stream`).
    public var events: ServerSentEvents { ServerSentEvents(body: body) }
}

/// A response that has been read whole.
public struct HTTPClientReply: Sendable {
    public var status: Int
    public var headers: [String: String]
    public var body: [UInt8]
    public var isSuccess: Bool { (200..<300).contains(status) }
}

/// The pieces of a body, in order. For one reader; the transfer is aborted when the reader stops.
public struct HTTPBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]

    /// Ends the transfer when its reader is released.
    final class Reader: Sendable {
        let exchange: ClientExchange
        /// Whose end would be the end of the transfer.
        private let client: HTTPClient
        init(_ exchange: ClientExchange, _ client: HTTPClient) {
            self.exchange = exchange
            self.client = client
        }
        deinit { exchange.cancel() }
    }
    let reader: Reader

    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: Reader
        public mutating func next() async throws -> [UInt8]? { try await reader.exchange.next() }
    }
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader) }

    /// All of it.
    /// - Throws: `NetError.tooBig` beyond `limit` bytes.
    public func collect(limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in self {
            guard bytes.count + piece.count <= limit else {
                throw NetError(.tooBig, "the response has more than \(limit) bytes")
            }
            bytes += piece
        }
        return bytes
    }
}

/// The HTTP client: libcurl's multi interface on a thread of its own, so that no loop ever waits for it.
///
/// Connections are kept and shared; to a server that speaks HTTP/2 all requests use one. Certificates are verified.
/// Proxies are those of the environment (`https_proxy`, `http_proxy`, `no_proxy`) unless one is configured.
public final class HTTPClient: Sendable {
    public struct Configuration: Sendable {
        /// Certificates (PEM) that servers are checked against; nil: the system's.
        public var caFile: String?
        /// `http://host:port` or `socks5h://host:port`; nil: the environment's.
        public var proxy: String?
        /// Connections to one host, and in all; further requests wait.
        public var connectionsPerHost = 256
        public var connectionLimit = 1_024
        public var retry = Retry()
        public init() {}
    }

    /// When `fetch` tries again: after failures to connect and after 429, 502, 503 and 504.
    public struct Retry: Sendable {
        public var attempts = 3
        /// The wait is a random part of this, doubled with each attempt, ms.
        public var baseMs = 250.0
        public var capMs = 5_000.0
        /// A longer `Retry-After` is not waited for, s.
        public var retryAfterLimit = 20.0
        public init() {}

        /// Milliseconds to wait; nil: it is final.
        func wait(after attempt: Int, status: Int?, retryAfter: String?, chance: Double) -> Double? {
            guard attempt < attempts else { return nil }
            if let status {
                guard [429, 502, 503, 504].contains(status) else { return nil }
                if let seconds = retryAfter.flatMap(Double.init), seconds.isFinite, seconds >= 0 {
                    return seconds <= retryAfterLimit ? seconds * 1_000 : nil
                }
            }
            return min(capMs, baseMs * Double(1 << min(attempt - 1, 16))) * chance
        }
    }

    private let thread: CurlThread
    private let retry: Retry
    private let sleep: @Sendable (_ milliseconds: Double) async throws -> Void

    public init(
        _ configuration: Configuration = Configuration(),
        sleep: @escaping @Sendable (_ milliseconds: Double) async throws -> Void = {
            try await Task.sleep(for: .milliseconds($0))
        }
    ) {
        thread = CurlThread(configuration)
        retry = configuration.retry
        self.sleep = sleep
    }

    deinit { thread.stop() }

    /// For the watchdog.
    public var watched: any WatchedThread { thread }

    /// Fails everything in progress and ends the thread.
    public func stop() { thread.stop() }

    /// Sends a request and waits for the response's head; the body follows as it is read. Cancelling the task aborts
    /// it.
    /// - Throws: `NetError`, or `CancellationError`.
    public func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        let exchange = ClientExchange(request, thread: thread)
        let reader = HTTPBody.Reader(exchange, self)
        try thread.begin(exchange)
        let head = try await exchange.waitForHead()
        return HTTPClientResponse(status: head.status, headers: head.headers, body: HTTPBody(reader: reader))
    }

    /// Sends a request and reads the response whole. What may be repeated is tried again when it failed for a passing
    /// reason.
    /// - Throws: `NetError`, or `CancellationError`; `NetError.tooBig` for a response of more than `limit` bytes.
    public func fetch(_ request: HTTPClientRequest, limit: Int = 1 << 20) async throws -> HTTPClientReply {
        var attempt = 1
        while true {
            do {
                let response = try await send(request)
                let reply = HTTPClientReply(
                    status: response.status, headers: response.headers,
                    body: try await response.body.collect(limit: limit))
                guard request.isRepeatable,
                    let wait = retry.wait(
                        after: attempt, status: reply.status, retryAfter: reply.headers["retry-after"],
                        chance: .random(in: 0...1))
                else { return reply }
                try await sleep(wait)
            } catch let error as NetError {
                // Where no connection was made, nothing was asked for yet.
                let isSafe =
                    request.isRepeatable && error.code != .tooBig
                    || [.cannotResolve, .cannotConnect].contains(error.code)
                guard isSafe,
                    let wait = retry.wait(after: attempt, status: nil, retryAfter: nil, chance: .random(in: 0...1))
                else { throw error }
                try await sleep(wait)
            }
            attempt += 1
        }
    }
}
