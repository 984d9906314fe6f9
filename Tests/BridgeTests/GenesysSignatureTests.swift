import Foundation
import Testing

@testable import Bridge

/// Signatures of AudioHook upgrades. The vector is the vendor's documentation's, as the reference's own tests have it
/// (purecloudlabs/audiohook-reference-implementation, app/audiohook/test/httpsignature/signature-verifier.test.ts).
@Suite struct GenesysSignatureTests {
    private static let apiKey = "SGVsbG8sIEkgYW0gdGhlIEFQSSBrZXkh"
    private static let secret = "TXlTdXBlclNlY3JldEtleVRlbGxOby0xITJAMyM0JDU="
    private static let target = "/api/v1/voicebiometrics/ws"
    private static let authority = "audiohook.example.com"
    private static let ids = [
        "audiohook-organization-id": "d7934305-0972-4844-938e-9060eef73d05",
        "audiohook-session-id": "30b0e395-84d3-4570-ac13-9a62d8f514c0",
        "audiohook-correlation-id": "e160e428-53e2-487c-977d-96989bf5c99d",
        "x-api-key": apiKey,
    ]
    private static let input =
        #"sig1=("@request-target" "@authority" "audiohook-organization-id" "audiohook-session-id" "#
        + #""audiohook-correlation-id" "x-api-key");keyid="SGVsbG8sIEkgYW0gdGhlIEFQSSBrZXkh";"#
        + #"nonce="VGhpc0lzQVVuaXF1ZU5vbmNl";alg="hmac-sha256";created=1641013200;expires=3282026430"#
    private static let code = "sig1=:NZBwyBHRRyRoeLqy1IzOa9VYBuI8TgMFt2GRDkDuJh4=:"
    private static let created = 1_641_013_200.0

    private let signature: GenesysSignature
    init() throws { signature = try #require(GenesysSignature(apiKey: Self.apiKey, clientSecret: Self.secret)) }

    private func proof(
        _ change: [String: String?] = [:], target: String = target, authority: String = authority, after: Double = 1
    ) -> GenesysSignature.Proof? {
        var headers = Self.ids.merging(["signature": Self.code, "signature-input": Self.input]) { $1 }
        for (name, value) in change { headers[name] = value }
        return signature.proof(
            target: target, authority: authority, headers: headers,
            at: Date(timeIntervalSince1970: Self.created + after))
    }

    @Test func theVendorsExampleIsRight() {
        #expect(proof() == .init(nonce: "VGhpc0lzQVVuaXF1ZU5vbmNl", expires: Self.created + 13))
    }

    @Test func aSignatureIsGoodForTenSeconds() {
        for after in [-3, 0, 10, 13.0] { #expect(proof(after: after) != nil) }
        for after in [-3.1, 13.1, 3_600] { #expect(proof(after: after) == nil) }
    }

    @Test(
        arguments: [
            ["signature": nil], ["signature-input": nil], ["x-api-key": nil], ["audiohook-session-id": nil],
            ["x-api-key": "SGVsbG8sIEkgYW0gdGhlIEFQSSBrZXki"], ["audiohook-organization-id": "another"],
            ["signature": "sig1=:NZBwyBHRRyRoeLqy1IzOa9VYBuI8TgMFt2GRDkDuJg4=:"], ["signature": "sig1=:AAAA:"],
            ["signature": "sig2=:NZBwyBHRRyRoeLqy1IzOa9VYBuI8TgMFt2GRDkDuJh4=:"], ["signature": ""],
            ["signature": "sig1=:"],
            ["signature": "sig1=:%%%:"], ["signature": String(repeating: "a", count: 5_000)],
            ["signature-input": String(repeating: "(", count: 5_000)],
        ] as [[String: String?]]) func whatIsMissingOrAnotherIsRefused(change: [String: String?])
    {
        #expect(proof(change) == nil)
    }

    @Test func anotherTargetOrAuthorityIsRefused() {
        #expect(proof(target: Self.target + "?a=1") == nil && proof(authority: "other.example.com") == nil)
    }

    /// Signed rightly, but not as it must be: with less than all, twice, or with parameters that are none.
    @Test(arguments: [
        (#"("@authority" "#, #"("#), (#""x-api-key")"#, #""x-api-key" "x-api-key")"#), (#";created=1641013200"#, ""),
        (#";nonce="VGhpc0lzQVVuaXF1ZU5vbmNl""#, ""), ("VGhpc0lzQVVuaXF1ZU5vbmNl", "short"), ("hmac-sha256", "none"),
        (#";created="#, #";created=1;created="#), (#";alg="#, #";tag="x";alg="#), (";created=", ";created=-"),
        ("created=1641013200", "created=99999999999999999999"), (#""x-api-key")"#, #""x-api-key" "host")"#),
        (#""x-api-key")"#, #""x-api-key";sf)"#), (";alg=", "; alg="), (#""@authority""#, #""@AUTHORITY""#),
        ("expires=3282026430", "expires=1641013190"), ("expires=3282026430", #"expires=3282026430, sig2=("a")"#),
        (#"keyid="SGV"#, #"keyid="XGV"#), ("sig1=(", "(("), ("sig1=(", "sig1=1("),
    ]) func whatIsSignedOtherwiseIsRefused(part: String, by other: String) throws {
        let input = Self.input.replacing(#"("@request-target" "@authority""#, with: #"("@authority" "@request-target""#)
            .replacing(part, with: other)
        #expect(!input.contains(part) || input.contains(other))
        #expect(proof(["signature-input": input, "signature": signed(input)]) == nil)
    }

    /// The order is the signer's.
    @Test func theOrderOfComponentsIsFree() {
        let input = Self.input.replacing(#"("@request-target" "@authority""#, with: #"("@authority" "@request-target""#)
        #expect(proof(["signature-input": input, "signature": signed(input)]) != nil)
    }

    /// The code over what the input names, as far as that can be read at all.
    private func signed(_ input: String) -> String {
        let names = input.split(separator: ")")[0].split(separator: "\"").enumerated().filter { $0.offset % 2 == 1 }
        let values = Self.ids.merging(["@request-target": Self.target, "@authority": Self.authority]) { $1 }
        let lines = names.map { "\"\($0.element)\": \(values[String($0.element)] ?? "")\n" }.joined()
        let parameters = input.firstIndex(of: "=").map { String(input[input.index(after: $0)...]) } ?? ""
        let text = lines + "\"@signature-params\": " + parameters
        return "sig1=:" + signature.code(of: Data(text.utf8)) + ":"
    }

    @Test func whatWeSignIsRight() throws {
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        let ids = Self.ids.filter { $0.key != "x-api-key" }
        let added = signature.headers(
            target: "/media/genesys?a=1", authority: "h:8080", headers: ids, nonce: "0123456789abcdef012345", at: now)
        let all = Self.ids.merging(added.map { ($0.name, $0.value) }) { $1 }
        let proof = signature.proof(target: "/media/genesys?a=1", authority: "h:8080", headers: all, at: now)
        #expect(proof?.nonce == "0123456789abcdef012345")
        #expect(signature.headers(target: "/", authority: "h", headers: [:], nonce: "n", at: now).isEmpty)
    }

    @Test(arguments: [("", secret), (apiKey, ""), (apiKey, "no base64!")])
    func keysMustBeKeys(key: String, secret: String) {
        #expect(GenesysSignature(apiKey: key, clientSecret: secret) == nil)
    }

    @Test func aNonceLetsOneStreamIn() throws {
        let nonces = GenesysNonces()
        func take(_ nonce: String, at seconds: Double, for life: Double = 13) -> Bool {
            nonces.take(.init(nonce: nonce, expires: seconds + life), at: Date(timeIntervalSince1970: seconds))
        }
        #expect(take("a", at: 0) && !take("a", at: 1) && take("b", at: 1) && !take("a", at: 13) && take("a", at: 13.5))
        for index in 0..<GenesysNonces.limit { _ = take("n\(index)", at: 20) }
        #expect(!take("c", at: 21), "no more streams than that")
        #expect(take("c", at: 40), "all others are too old")
    }

    @Test func randomHeadersAreRefused() {
        for _ in 0..<2_000 {
            var bytes = Array(Self.input.utf8)
            for _ in 0..<Int.random(in: 1...4) { bytes[Int.random(in: bytes.indices)] = UInt8.random(in: 0x20...0x7E) }
            let text = String(decoding: bytes.prefix(Int.random(in: 0...bytes.count)), as: UTF8.self)
            #expect(text == Self.input || proof(["signature-input": text]) == nil)
        }
    }
}
