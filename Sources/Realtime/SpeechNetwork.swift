public import Net

/// How speech services are reached: the HTTP client, and loops for their WebSockets.
public struct SpeechNetwork: Sendable {
    public var client: HTTPClient
    public var resolver: HostResolver
    public var loops: [EventLoop]

    /// - Parameter loops: at least one.
    public init(client: HTTPClient, resolver: HostResolver = HostResolver(), loops: [EventLoop]) {
        self.client = client
        self.resolver = resolver
        self.loops = loops
    }

    /// The current loop, if there is one, so that a call and its services share a loop.
    private var loop: EventLoop? { loops.first { $0.isCurrent } ?? loops.randomElement() }

    /// - Throws: `SpeechError`, or `CancellationError`.
    func open(_ url: WebSocketURL, headers: [(String, String)], service: String) async throws -> WebSocketChannel {
        guard let loop else { throw SpeechError("\(service): there is no event loop") }
        do {
            return try await WebSocketChannel.open(url, headers: headers, resolver: resolver, on: loop)
        } catch let failure as WebSocketChannel.Failure {
            throw SpeechError(service, failure)
        }
    }

    /// Sends a request; an answer that is no success becomes an error with the service's own words.
    func send(_ request: HTTPClientRequest, service: String) async throws -> HTTPClientResponse {
        var request = request
        // The address is the operator's: a speech server of ours may be on this machine.
        request.allowsPrivateAddresses = true
        do {
            let response = try await client.send(request)
            guard !(200..<300).contains(response.status) else { return response }
            let body = (try? await response.body.collect(limit: Self.errorBodyLimit)) ?? []
            throw SpeechError(service, status: response.status, headers: response.headers, body: body)
        } catch let error as NetError {
            throw SpeechError("\(service): \(error.message)", error.code == .timedOut ? .stalled : .unavailable)
        }
    }

    /// Bytes of an error's body that are examined.
    private static let errorBodyLimit = 65_536
}
