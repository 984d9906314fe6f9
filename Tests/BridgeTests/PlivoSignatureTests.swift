import Testing

@testable import Bridge

/// Codes made by the vendor's own package (`plivo` 4.63.0, `plivo.utils.signature_v3`).
@Suite struct PlivoSignatureTests {
    private let signature = PlivoSignature(authToken: "plivo-auth-token-of-this-test")
    private static let nonce = "05429567804466091622"
    private static let base = "https://voice.example.com/plivo/"
    private let form: [(name: String, value: String)] = [
        ("To", "14155550000"), ("CallUUID", "9834029e-58b6-11e1-b8b7-a5bd0e4e126f"), ("From", "14155551234"),
        ("CallStatus", "ringing"), ("Event", "StartApp"), ("Caller Name", "Zoë & Co"), ("Empty", ""),
    ]

    private func isValid(
        _ code: String, _ method: String = "POST", _ path: String = base + "answer",
        query: [(name: String, value: String)] = [], form: [(name: String, value: String)] = [],
        header: String = PlivoSignature.header, nonce: String? = nonce
    ) -> Bool {
        var headers = [header: code]
        if let nonce { headers[PlivoSignature.nonceHeader] = nonce }
        return signature.isValid(method, url: path, query: query, form: form, headers: headers)
    }

    @Test func aFormIsSignedAsTheVendorSignsIt() {
        #expect(isValid("AC4E+oao1+gRDQq4qy23RSHclz2yKMNYJvobcl4kNxQ=", form: form))
        #expect(isValid("AC4E+oao1+gRDQq4qy23RSHclz2yKMNYJvobcl4kNxQ=", form: form.reversed()))
    }

    @Test func aQueryIsSignedBesideTheFormAndWithoutOne() {
        let query: [(name: String, value: String)] = [("call", "ob-1"), ("b", "2"), ("a", "x y")]
        #expect(
            isValid(
                "ZGYYrlnW4cyV4nIh4Tl8kso80uQBJQsPM/7Jx+TqTTk=", "POST", Self.base + "status", query: query, form: form)
        )
        #expect(
            isValid(
                "2kdvPnGSxrkrRwKOhFz60iOAntdvaL6Mc9BdlhG7tBQ=", "POST", Self.base + "transfer",
                query: [("to", "+15550177"), ("ring", "30")]))
    }

    @Test func anUpgradeIsSignedAsAGet() {
        let url = "voice.example.com/media/plivo"
        #expect(isValid("t+ABR68Hfcz2DVtsBgAyKyZH9LXigI2Dc4jOL/lF52s=", "GET", "wss://" + url))
        #expect(!isValid("t+ABR68Hfcz2DVtsBgAyKyZH9LXigI2Dc4jOL/lF52s=", "GET", "https://" + url))
        #expect(
            isValid(
                "RqTc+V+uKR8Wv+V56G62qrMIn6tjWHlmwCN6lJdPaOY=", "GET", "https://" + url,
                query: [("b", "2"), ("a", "1")]))
    }

    @Test func oneOfSeveralCodesInEitherHeaderIsEnough() {
        let codes = "bm90IHRoaXM=, AC4E+oao1+gRDQq4qy23RSHclz2yKMNYJvobcl4kNxQ="
        #expect(isValid(codes, form: form))
        #expect(isValid(codes, form: form, header: PlivoSignature.mainHeader))
        #expect(!isValid(codes, form: form, header: "x-plivo-signature-v2"))
        #expect(!isValid(String(repeating: "bm90IHRoaXM=,", count: 9) + codes, form: form), "far too many")
    }

    @Test func anotherNonceFieldUrlTokenOrCodeIsRefused() {
        let code = "AC4E+oao1+gRDQq4qy23RSHclz2yKMNYJvobcl4kNxQ="
        #expect(!isValid(code, form: form, nonce: "05429567804466091623") && !isValid(code, form: form, nonce: nil))
        #expect(!isValid(code, form: form, nonce: ""))
        #expect(!isValid(code, form: form + [("X", "1")]) && !isValid(code))
        #expect(!isValid(code, "POST", Self.base + "status", form: form))
        #expect(!isValid(code, query: [("call", "ob-1")], form: form))
        #expect(!isValid("", form: form) && !isValid(",,", form: form) && !isValid("no base64!", form: form))
        #expect(
            !PlivoSignature(authToken: "another").isValid(
                "POST", url: Self.base + "answer", form: form,
                headers: [PlivoSignature.header: code, PlivoSignature.nonceHeader: Self.nonce]))
    }
}
