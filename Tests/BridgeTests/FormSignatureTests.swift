import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct FormSignatureTests {
    /// The example of twilio.com/docs/usage/security.
    private let form: [(name: String, value: String)] = [
        ("CallSid", "CA1234567890ABCDE"), ("Caller", "+14158675309"), ("Digits", "1234"), ("From", "+14158675309"),
        ("To", "+18005551212"),
    ]
    private let url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    private let signature = FormSignature(key: "12345")

    @Test func theVendorsExample() {
        #expect(signature.signature(url: url, form: form) == "RSOYDt4T1cUTdK1PDd93/VVr8B8=")
        #expect(signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, form: form.reversed()))
    }
    @Test func anotherUrlFieldOrTokenIsRefused() {
        #expect(!signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url + "3", form: form))
        #expect(!signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, form: form + [("X", "1")]))
        #expect(!FormSignature(key: "12346").isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, form: form))
        #expect(!signature.isValid("", url: url, form: form) && !signature.isValid("not base64!", url: url, form: form))
    }
    @Test(arguments: ["https://h/p", "https://h:443/p", "wss://h/p", "wss://h:443/p", "https://h/p/"])
    func spellingsOfOneAddressAreOne(signed: String) {
        let code = signature.signature(url: signed, form: [])
        #expect(signature.isValid(code, url: "wss://h/p"))
        #expect(!signature.isValid(code, url: "wss://h/q"))
    }
}
