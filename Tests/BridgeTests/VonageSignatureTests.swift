import Foundation
import Testing

@testable import Bridge

/// Tokens made by PyJWT 2.15.1 and found right by the vendor's own package (`vonage_jwt` 1.1.5).
@Suite struct VonageSignatureTests {
    private static let head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    /// `iat`, `jti`, `iss`, and the beginning of `payload_hash`.
    private static let start =
        "eyJpYXQiOjE3MDAwMDAwMDAsImp0aSI6ImM1YmE4ZjI0LTFhMTQtNGMxMC1iZmRmLTNmYmU4Y2U1MTFiNSIsImlzcyI6IlZvbmFnZSIs"
    private static let hash =
        "InBheWxvYWRfaGFzaCI6IjliY2M5YzhkNGFkNTg2MGExYTRhMzM2ZDI2MzRmODVjNTQ4ZmY0YTJmM2QwZmI1ZGZiZDIwNWZiZGQ4YTYyMDgi"
    private static let account =
        "LCJhcGlfa2V5IjoiYTFiMmMzZCIsImFwcGxpY2F0aW9uX2lkIjoiYWFhYWFhYWEtYmJiYi1jY2NjLWRkZGQtMDEyMzQ1Njc4OWFiI"
    private static let token =
        "Bearer " + head + start + hash + account + "n0.W6GLrixQHLC0QDJ1hxLxv2nSMKEA5lRvs1eKLrbSjec"
    private static let body = #"{"uuid":"aaaaaaaa-bbbb-cccc-dddd-0123456789ab","status":"ringing"}"#
    private static let issued = 1_700_000_000.0
    private static let application = "aaaaaaaa-bbbb-cccc-dddd-0123456789ab"
    private static let secret = "vonage-signature-secret-of-this-test"

    private func isValid(
        _ token: String = token, body: String = body, after seconds: Double = 0, secret: String = secret,
        apiKey: String? = "a1b2c3d", application: String? = application
    ) -> Bool {
        VonageSignature(secret: secret, apiKey: apiKey, applicationID: application).isValid(
            token, payload: Array(body.utf8), at: Date(timeIntervalSince1970: Self.issued + seconds))
    }

    @Test func aTokenHoldsForItsBodyAndAccount() {
        #expect(isValid() && isValid(apiKey: nil, application: nil))
        #expect(isValid("bearer" + Self.token.dropFirst(6)), "the scheme has no case (RFC 9110 §11.1)")
    }

    @Test func anotherBodySecretAccountOrApplicationIsRefused() {
        #expect(!isValid(body: Self.body + " ") && !isValid(body: ""))
        #expect(!isValid(secret: "another") && !isValid(apiKey: "a1b2c3e"))
        #expect(!isValid(application: "bbbbbbbb-bbbb-cccc-dddd-0123456789ab"))
    }

    @Test func anOldOrEarlyTokenIsRefused() {
        #expect(isValid(after: VonageSignature.ageLimit) && isValid(after: -VonageSignature.ageLimit))
        #expect(!isValid(after: VonageSignature.ageLimit + 1) && !isValid(after: -VonageSignature.ageLimit - 1))
    }

    @Test func aTokensOwnEndIsKept() {
        let expiring =
            "Bearer " + Self.head + Self.start + Self.hash + Self.account
            + "iwiZXhwIjoxNzAwMDAwMDEwfQ.KRkJE41NYnDO6CuDxB8tNqDd2npCS4F9EY9IYKJpFPE"
        #expect(isValid(expiring, after: 10) && !isValid(expiring, after: 11))
    }

    @Test func aTokenWithoutADigestOrWithAnotherAlgorithmIsRefused() {
        let bare =
            "Bearer " + Self.head + Self.start
            + "ImFwaV9rZXkiOiJhMWIyYzNkIiwiYXBwbGljYXRpb25faWQiOiJhYWFhYWFhYS1iYmJiLWNjY2MtZGRkZC0wMTIzNDU2Nzg5YWIifQ."
            + "NnzKwBvFeGwUvney38Ntqcor8Hlg6j5yxoYZxVNQ1Ls"
        let unsigned =
            "Bearer eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0." + Self.start + Self.hash + Self.account + "n0."
        let longer =
            "Bearer eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9." + Self.start + Self.hash + Self.account
            + "n0.M44eywj6CpT35JLa3nsEdxq-PHH6FSLb7MgdrpcZKCtsTbp_AgZKJf-6Xwf2LfDNL_4ZWzmZLWewjCWxXDHT2g"
        #expect(!isValid(bare) && !isValid(unsigned) && !isValid(longer))
    }

    @Test(arguments: [
        "", "Bearer", "Bearer ", "Bearer a.b", "Bearer ..", "Basic dTpw", "Bearer a.b.c.d",
        "Bearer " + String(repeating: "a", count: 9_000),
    ])
    func whatIsNoTokenIsRefused(_ header: String) { #expect(!isValid(header)) }

    /// The digest of a GET is that of its query as JSON.
    @Test func aQueryIsAnObjectOfTexts() {
        let query: [(name: String, value: String)] = [
            ("to", "442079460000"), ("from", "447700900000"), ("name", #"Zoë / "x""#),
        ]
        let payload = VonageSignature.payload(of: query)
        #expect(
            String(decoding: payload, as: UTF8.self)
                == #"{"to":"442079460000","from":"447700900000","name":"Zoë / \"x\""}"#)
        #expect(String(decoding: VonageSignature.payload(of: []), as: UTF8.self) == "{}")
        let token =
            "Bearer " + Self.head + Self.start
            + "InBheWxvYWRfaGFzaCI6ImY4N2Q3NGY0NDg0ZDcwODcyZmNmYjdlYjM4MWQzZGMxZTNlMTQ1ZTg2MDA4YjlkMjRhZDFjMmYwODc3ZWU0"
            + "ODMi" + Self.account + "n0.AnYKYZaOoW3JCWSMZZNlyoU9nPHSxkod9O6Hea2wleQ"
        #expect(isValid(token, body: String(decoding: payload, as: UTF8.self)))
    }
}
