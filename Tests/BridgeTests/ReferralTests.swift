import Foundation
import Testing

@testable import Bridge

@Suite struct ReferralTests {
    @Test func anAddressIsKeptWithoutItsHeaders() {
        let referral = Referral(
            uri: "sip:1002@pbx.example?Replaces=a%40b%3Bto-tag%3D7%3Bfrom-tag%3D3&Subject=hello", reference: 5)
        #expect(
            referral.target == "sip:1002@pbx.example" && referral.replaces == "a@b;to-tag=7;from-tag=3"
                && referral.reference == 5)
        #expect(Referral(uri: "sip:1002@pbx.example").replaces == nil)
        #expect(Referral(uri: "sip:1002@pbx.example?\u{301}Subject=hello").target == "sip:1002@pbx.example")
    }

    @Test(arguments: [
        "sip:x@y?Replaces=", "sip:x@y?Replaces=%", "sip:x@y?", "?Replaces", "",
        "sip:x@y?Replaces=" + String(repeating: "a", count: 401),
        "sip:x@y?Replaces=a" + String(repeating: "%CC%81", count: 400), "sip:x@y?Replaces=a%0D%0AX:%20y",
        "sip:x@y?Replaces=a%00b",
    ])
    func malformedReplacesHeadersAreIgnored(_ uri: String) { #expect(Referral(uri: uri).replaces == nil) }
}
