import Testing

@testable import Bridge

@Suite struct CarrierNumberTests {
    @Test(arguments: [
        ("14155551234", "+14155551234"), ("+14155551234", "+14155551234"), ("09876543210", "09876543210"),
        ("anonymous", "anonymous"), ("sip:a@b", "sip:a@b"), ("123456", "123456"),
        ("1234567890123456", "1234567890123456"), ("", ""), ("１４１５５５５１２３４", "１４１５５５５１２３４"),
    ])
    func aNumberOfE164HasItsPlus(told: String, known: String) {
        #expect(CarrierNumber.international(told) == known)
    }

    @Test func aCarrierMayWantItBare() {
        #expect(CarrierNumber.bare("+14155551234") == "14155551234" && CarrierNumber.bare("0123") == "0123")
    }
}
