/// Method and path pattern → handler. Patterns hold `{name}` for one segment and may end in `{name...}` for the rest.
public struct Router: Sendable {
    public typealias Handler = @Sendable (HTTPRequest) async -> HTTPResponse

    struct Route: Sendable {
        var method: String
        var segments: [String]
        var handler: Handler
    }

    private var routes: [Route] = []
    public init() {}

    public mutating func add(_ method: String, _ pattern: String, _ handler: @escaping Handler) {
        routes.append(Route(method: method, segments: Self.split(pattern), handler: handler))
    }

    /// Every route, as `METHOD /path/{parameter}`, in order.
    public var patterns: [String] { routes.map { "\($0.method) /" + $0.segments.joined(separator: "/") } }

    public enum Match: Sendable {
        case found(Handler, parameters: [String: String])
        /// The path exists for other methods.
        case wrongMethod(allowed: [String])
        case none
    }

    /// The first route that fits, in the order they were added. A path that is spelled out is not taken for a
    /// parameter's value.
    public func match(method: String, path: String) -> Match {
        let segments = Self.split(path)
        var allowed: [String] = []
        let isSpelledOut = routes.contains { $0.segments == segments }
        for route in routes {
            guard let parameters = Self.parameters(of: segments, in: route.segments),
                !isSpelledOut || parameters.isEmpty
            else { continue }
            if route.method == method || (method == "HEAD" && route.method == "GET") {
                return .found(route.handler, parameters: parameters)
            }
            if !allowed.contains(route.method) { allowed.append(route.method) }
        }
        return allowed.isEmpty ? .none : .wrongMethod(allowed: allowed)
    }

    /// Segments of a path; one slash at the end makes no difference.
    private static func split(_ path: String) -> [String] {
        path.split(separator: "/", omittingEmptySubsequences: true).map(String.init)
    }

    private static func parameters(of path: [String], in pattern: [String]) -> [String: String]? {
        var result: [String: String] = [:]
        for (index, part) in pattern.enumerated() {
            if part.hasPrefix("{"), part.hasSuffix("...}") {
                result[String(part.dropFirst().dropLast(4))] = path.dropFirst(index).joined(separator: "/")
                return result
            }
            guard index < path.count else { return nil }
            if part.hasPrefix("{"), part.hasSuffix("}") {
                result[String(part.dropFirst().dropLast())] = path[index]
            } else if part != path[index] {
                return nil
            }
        }
        return path.count == pattern.count ? result : nil
    }
}
