internal import Net

/// What a carrier asks us and tells us: its webhooks. They come without a key and check the carrier's own proof.
protocol CarrierRoutes: Sendable {
    /// With which all its paths begin; they are no part of the documented API.
    static var prefix: String { get }
    init(services: Routes.Services)
    var all: [CarrierRoute] { get }
}

struct CarrierRoute: Sendable {
    typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPResponse
    let method: String
    let pattern: String
    let handler: Handler
    init(_ method: String, _ pattern: String, _ handler: @escaping Handler) {
        self.method = method
        self.pattern = pattern
        self.handler = handler
    }
}

extension Routes {
    /// Each carrier's, once.
    static let carriers: [any CarrierRoutes.Type] = [
        TwilioRoutes.self,
        TelnyxRoutes.self,
        SignalWireRoutes.self,
        PlivoRoutes.self,
        VonageRoutes.self,
        ExotelRoutes.self,
    ]
}
