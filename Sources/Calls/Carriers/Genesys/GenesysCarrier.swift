public import Bridge
public import Foundation
internal import Net

/// Genesys Cloud, which streams conversations to us: its signature lets them in. It has no webhook and no API of ours.
public struct GenesysCarrier: Carrier {
    public static let name = "genesys"
    public static let title = "Genesys"
    public static var dialect: String { GenesysDialect.traits.name }
    /// A conversation's id: a UUID in lower case.
    public static func owns(callID: String) -> Bool {
        callID.utf8.count == 36 && UUID(uuidString: callID)?.uuidString.lowercased() == callID
    }
    public static var placesCalls: Bool { false }

    private let signature: GenesysSignature
    private let nonces = GenesysNonces()
    /// Of our address as Genesys sees it: its path, and host with port.
    private let base: String
    private let authority: String
    private let now: @Sendable () -> Date

    /// - Parameter publicURL: without a slash at the end.
    public init(
        signature: GenesysSignature, publicURL: String, now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.signature = signature
        self.now = now
        let rest = publicURL.split(separator: "://", maxSplits: 1).last.map(String.init) ?? publicURL
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        authority = rest[..<slash].lowercased()
        base = String(rest[slash...])
    }

    private func proof(
        _ path: String, _ query: [(name: String, value: String)], _ headers: [String: String]
    ) -> GenesysSignature.Proof? {
        // A query is covered as it was written: one that has to be escaped otherwise than we do is refused.
        let target = base + path + (query.isEmpty ? "" : "?" + HTTPForm.encode(query))
        return signature.proof(target: target, authority: authority, headers: headers, at: now())
    }

    public func isSigned(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        proof(path, query, headers) != nil
    }

    public func takes(path: String, query: [(name: String, value: String)], headers: [String: String]) -> Bool {
        proof(path, query, headers).map { nonces.take($0, at: now()) } ?? false
    }

    public var api: (any CarrierAPI)? { nil }
}
