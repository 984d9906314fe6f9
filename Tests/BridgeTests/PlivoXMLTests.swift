import Testing

@testable import Bridge

/// What the vendor's package makes of the same is compared in `test_plivo.py`.
@Suite struct PlivoXMLTests {
    private static let head = #"<?xml version="1.0" encoding="UTF-8"?><Response>"#

    @Test(arguments: [
        (WireFormat.muLaw8k, "audio/x-mulaw;rate=8000"),
        (WireFormat(.linear16(.little), sampleRate: 8_000), "audio/x-l16;rate=8000"),
        (WireFormat(.linear16(.little), sampleRate: 16_000), "audio/x-l16;rate=16000"),
    ])
    func aStreamHasItsFormatAndToken(format: WireFormat, contentType: String) {
        #expect(
            PlivoXML.stream("wss://h/a", format, token: "t1", statusURL: "https://h/s?a=1&b=2")
                == Self.head + #"<Stream bidirectional="true" keepCallAlive="true" contentType="\#(contentType)" "#
                + #"extraHeaders="token=t1" statusCallbackUrl="https://h/s?a=1&amp;b=2" "#
                + #"statusCallbackMethod="POST">wss://h/a</Stream></Response>"#)
    }

    @Test func aCallIsHandedToANumberOrASipAddress() {
        #expect(
            PlivoXML.dial("+15550177", callerID: "+15550100", ringSeconds: 30, next: "https://h/n")
                == Self.head + #"<Dial action="https://h/n" method="POST" timeout="30" callerId="15550100">"#
                + "<Number>15550177</Number></Dial></Response>")
        #expect(
            PlivoXML.dial("sip:a@b", callerID: nil, ringSeconds: 0, next: "https://h/n")
                == Self.head + #"<Dial action="https://h/n" method="POST" timeout="5"><User>sip:a@b</User></Dial>"#
                + "</Response>")
    }

    @Test func wordsAreSpokenByAVoiceThatHasTheLanguage() {
        #expect(
            PlivoXML.say("a < b", language: "en-US")
                == Self.head + #"<Speak language="en-US">a &lt; b</Speak><Hangup/></Response>"#)
        #expect(PlivoXML.say("네", language: "ko-KR").contains(#"<Speak voice="Polly.Seoyeon" language="ko-KR">"#))
    }

    @Test func aCallIsRefusedOrEnded() {
        #expect(PlivoXML.reject(isBusy: true) == Self.head + #"<Hangup reason="busy"/></Response>"#)
        #expect(PlivoXML.reject(isBusy: false) == Self.head + #"<Hangup reason="rejected"/></Response>"#)
        #expect(PlivoXML.hangUp == Self.head + "<Hangup/></Response>")
    }
}
