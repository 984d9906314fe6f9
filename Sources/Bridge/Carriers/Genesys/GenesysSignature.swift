internal import Crypto
public import Foundation
internal import Net
internal import Synchronization

/// The signature of an AudioHook upgrade: HTTP Message Signatures (RFC 9421) with HMAC-SHA256, as Genesys Cloud writes
/// them (developer.genesys.cloud/devapps/audiohook/security; what it leaves open as in, on GitHub,
/// purecloudlabs/audiohook-reference-implementation, `app/src/authenticator.ts`).
///
/// `Signature-Input` names what is covered, with `keyid` (the API key), `nonce`, `created` and perhaps `expires`; all
/// of `covered` must be. `Signature` is the code in Base64 between colons. `X-API-KEY` is the API key once more.
public struct GenesysSignature: Sendable {
    public static let header = "signature"
    public static let inputHeader = "signature-input"
    static let keyHeader = "x-api-key"
    /// What a signature must cover.
    static let covered = [
        "@request-target", "@authority", "audiohook-organization-id", "audiohook-session-id",
        "audiohook-correlation-id", keyHeader,
    ]
    /// Seconds since `created`, and by which two clocks may differ.
    static let ageLimit = 10.0
    static let skew = 3.0
    /// Seconds that a client's own signature is good for.
    static let lifetime = 30
    /// Bytes of either header, components that are covered, and characters of a nonce at least.
    private static let headerLimit = 2_048
    private static let componentLimit = 16
    private static let nonceLeast = 22

    private let apiKey: String
    private let key: SymmetricKey

    /// - Parameter clientSecret: Base64; nil is returned for what is none, or empty.
    public init?(apiKey: String, clientSecret: String) {
        guard !apiKey.isEmpty, let secret = Data(base64Encoded: clientSecret), !secret.isEmpty else { return nil }
        self.apiKey = apiKey
        key = SymmetricKey(data: secret)
    }

    /// A request whose signature is right: what it takes to know it again.
    public struct Proof: Sendable, Equatable {
        public var nonce: String
        /// When the signature is too old in any case, seconds since 1970.
        public var expires: Double
    }

    /// - Parameters:
    ///   - target: path and query of the request.
    ///   - authority: host, and port where it is not the scheme's, as Genesys knows it.
    ///   - headers: with lower-case names.
    /// - Returns: nil: the signature is missing, not this request's, too old, or made with another key.
    public func proof(target: String, authority: String, headers: [String: String], at now: Date) -> Proof? {
        guard let given = headers[Self.header], given.utf8.count <= Self.headerLimit,
            let text = headers[Self.inputHeader], text.utf8.count <= Self.headerLimit,
            let input = SignatureInput(text), let code = input.code(in: given),
            let signed = Self.signed(input, target, authority, headers),
            let nonce = input.texts["nonce"], nonce.utf8.count >= Self.nonceLeast,
            input.texts["alg"] ?? "hmac-sha256" == "hmac-sha256",
            let created = input.numbers["created"]
        else { return nil }
        // Both are compared whatever the first says, each in a time that depends on lengths alone.
        let isKey = [input.texts["keyid"] ?? "", headers[Self.keyHeader] ?? ""].map { DigestText.isEqual($0, apiKey) }
        let isCode = HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: signed, using: key)
        guard isCode, isKey == [true, true] else { return nil }
        let age = now.timeIntervalSince1970 - Double(created)
        guard age >= -Self.skew, age <= Self.ageLimit + Self.skew else { return nil }
        if let expires = input.numbers["expires"], now.timeIntervalSince1970 > Double(expires) + Self.skew {
            return nil
        }
        return Proof(nonce: nonce, expires: Double(created) + Self.ageLimit + Self.skew)
    }

    /// What the code covers (RFC 9421 §2.5); nil: a component is unknown, missing or there twice, or one that must be
    /// covered is not.
    private static func signed(
        _ input: SignatureInput, _ target: String, _ authority: String, _ headers: [String: String]
    ) -> Data? {
        guard input.components.count <= componentLimit, Set(input.components).count == input.components.count,
            Set(covered).isSubset(of: input.components)
        else { return nil }
        var text = ""
        for name in input.components {
            let value: String?
            switch name {
            case "@request-target": value = target
            case "@authority": value = authority
            default: value = headers[name]?.trimmingCharacters(in: .whitespaces)
            }
            guard let value else { return nil }
            text += "\"\(name)\": \(value)\n"
        }
        return Data((text + "\"@signature-params\": \(input.parameters)").utf8)
    }

    /// As the client: the two headers of an upgrade.
    ///
    /// - Parameters:
    ///   - headers: with lower-case names; the API key is added.
    ///   - nonce: 22 characters or more, never used before.
    public func headers(
        target: String, authority: String, headers: [String: String], nonce: String, at now: Date
    ) -> [(name: String, value: String)] {
        let created = Int(now.timeIntervalSince1970)
        let names = Self.covered.map { "\"\($0)\"" }.joined(separator: " ")
        let text =
            "sig1=(\(names));keyid=\"\(apiKey)\";nonce=\"\(nonce)\";alg=\"hmac-sha256\";created=\(created)"
            + ";expires=\(created + Self.lifetime)"
        let all = headers.merging([Self.keyHeader: apiKey]) { $1 }
        guard let input = SignatureInput(text), let signed = Self.signed(input, target, authority, all) else {
            return []
        }
        return [(Self.inputHeader, text), (Self.header, "sig1=:\(code(of: signed)):")]
    }

    /// Base64.
    func code(of signed: Data) -> String {
        Data(HMAC<SHA256>.authenticationCode(for: signed, using: key)).base64EncodedString()
    }
}

/// Nonces of signatures that have let a stream in, so that each does so once.
public final class GenesysNonces: Sendable {
    /// Nonces that are known; more streams than that in 13 s are refused.
    static let limit = 10_000

    private let known = Mutex<[String: Double]>([:])

    public init() {}

    /// False: it has been taken before.
    public func take(_ proof: GenesysSignature.Proof, at now: Date) -> Bool {
        known.withLock { known in
            let time = now.timeIntervalSince1970
            if known.count >= Self.limit { known = known.filter { $0.value >= time } }
            guard known.count < Self.limit, known[proof.nonce].map({ $0 < time }) ?? true else { return false }
            known[proof.nonce] = proof.expires
            return true
        }
    }
}
