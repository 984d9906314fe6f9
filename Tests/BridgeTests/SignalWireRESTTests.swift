import Testing

@testable import Bridge

@Suite struct SignalWireRESTTests {
    @Test func callIDsAreUUIDs() {
        #expect(SignalWireREST.isCallID("0703574f-b151-465d-aedb-28972eb513c7"))
        for text in [
            "", "0703574f-b151-465d-aedb-28972eb513c", "0703574fb151465daedb28972eb513c7", "CA1", "../calls",
            "0703574f-b151-465d-aedb-28972eb513cg", "0703574f-b151-465d-aedb-28972eb513c7-",
        ] {
            #expect(!SignalWireREST.isCallID(text), "\(text)")
        }
    }

    @Test(
        arguments: [
            (.muLaw8k, "PCMU@8000h"), (.linear16k, "L16@16000h"), (.linear24k, "L16@24000h"),
        ] as [(SignalWireFormat, String)])
    func aStreamIsAskedForByItsAttributes(format: SignalWireFormat, codec: String) {
        #expect(
            CallMarkup.connect(stream: "wss://h/s", attributes: format.attributes(token: "t"))
                == #"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://h/s" "#
                + #"codec="\#(codec)" realtime="true" authBearerToken="t"/></Connect></Response>"#)
    }

    @Test(arguments: [
        ("example", "https://example.signalwire.com/api/laml"),
        ("example.signalwire.com", "https://example.signalwire.com/api/laml"),
        ("voice.example.org", "https://voice.example.org/api/laml"),
    ])
    func theSpaceIsTheAPIsAddress(space: String, url: String) {
        var settings = SignalWireSettings()
        (settings.project, settings.token, settings.space) = ("p", "t", space)
        #expect(settings.rest?.url == url)
    }

    /// Vectors of the tests of SignalWire's package (`signalwire` 2.1.1 on PyPI).
    @Test(arguments: [
        ("http://0aac-189-71-169-171.ngrok-free.app/voice", "busy", "lf3nWPmUr2y6jSeeoMW4mg58vgI="),
        ("http://0aac-189-71-169-171.ngrok-free.app/voice", "failed", nil),
    ])
    func theVendorsSignatures(url: String, status: String, wanted: String?) {
        let form: [(name: String, value: String)] = [
            ("AccountSid", "6bfbbe86-a901-4197-8759-2a0de1fa319d"), ("ApiVersion", "2010-04-01"),
            ("CallbackSource", "call-progress-events"), ("CallSid", "0703574f-b151-465d-aedb-28972eb513c7"),
            ("CallStatus", status), ("Direction", "outbound-api"), ("From", "sip:+17063958228@sip.swire.io"),
            ("HangupBy", "sip:jpsantos@joaosantos-2a0de1fa319d.sip.swire.io"), ("HangupDirection", "inbound"),
            ("Timestamp", "Thu, 09 Nov 2023 17:05:04 +0000"),
            ("To", "sip:jpsantos@joaosantos-2a0de1fa319d.sip.swire.io"), ("SipResultCode", "486"),
        ]
        let signature = FormSignature(key: "PSK_V3bF8oyeRNpJWGoRWHNYQMUU")
        #expect(signature.isValid("lf3nWPmUr2y6jSeeoMW4mg58vgI=", url: url, form: form) == (wanted != nil))
    }

    /// By `RequestValidator.build_signature_with_compatibility` of the same package.
    @Test func aSignatureCoversTheQuery() {
        let signature = FormSignature(key: "PSK_of-this-test")
        let form: [(name: String, value: String)] = [
            ("CallSid", "0703574f-b151-465d-aedb-28972eb513c7"), ("From", "+15550100"), ("To", "+15550199"),
            ("CallStatus", "ringing"),
        ]
        let url = "https://voice.example.com/signalwire/voice"
        #expect(signature.isValid("eg17+CShMFnt9I1rC4+aKlXwXLU=", url: url + "?call=out-1", form: form))
        #expect(!signature.isValid("eg17+CShMFnt9I1rC4+aKlXwXLU=", url: url + "?call=out-2", form: form))
        #expect(!signature.isValid("eg17+CShMFnt9I1rC4+aKlXwXLU=", url: url, form: form))
        #expect(
            !FormSignature(key: "PSK_another").isValid(
                "eg17+CShMFnt9I1rC4+aKlXwXLU=", url: url + "?call=out-1", form: form)
        )
    }
}
