internal import Foundation
internal import Net
public import Problems

/// Which addresses tools and MCP servers may be reached at: public ones, and those that the operator allowed.
public struct ToolAddresses: Sendable {
    /// Characters of an address.
    public static let urlLimit = 2_048

    /// `http:` to loopback is allowed while we are bound to loopback.
    public var isBoundToLoopback: Bool
    /// `host:port` in lower case: may lie in our own network.
    public var allowedHosts: Set<String>

    public init(isBoundToLoopback: Bool = true, allowedHosts: Set<String> = []) {
        self.isBoundToLoopback = isBoundToLoopback
        self.allowedHosts = allowedHosts
    }

    /// What is wrong with an address; nil if it may be asked. The address that its name resolves to is checked when the
    /// connection is made.
    public func problem(with url: String) -> Problem? {
        guard URIText.isValid(url) else { return Problem(.characterNotInUrl) }
        guard url.count <= Self.urlLimit, let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty,
            parts.port.map((1...65_535).contains) ?? true, parts.fragment == nil
        else { return Problem(.notHttps) }
        guard parts.user == nil, parts.password == nil else { return Problem(.credentialsInUrl) }
        switch parts.scheme?.lowercased() {
        case "https": return isPrivate(literal: host) && !allowsPrivate(url) ? Problem(.addressPrivate) : nil
        case "http" where isBoundToLoopback && SocketAddress.isLoopback(host): return nil
        case "http": return Problem(.httpOnlyOnLoopback)
        default: return Problem(.notHttps)
        }
    }

    /// Whether a request to this URL may end in our own network: `http:` to loopback, and what the operator allowed.
    public func allowsPrivate(_ url: String) -> Bool {
        guard let parts = URLComponents(string: url), let host = parts.host?.lowercased() else { return false }
        if parts.scheme?.lowercased() == "http" { return isBoundToLoopback && SocketAddress.isLoopback(host) }
        return allowedHosts.contains("\(host):\(parts.port ?? 443)")
    }

    private func isPrivate(literal host: String) -> Bool {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        return PublicAddress.isNumeric(bare) && !PublicAddress.contains(bare)
    }
}
