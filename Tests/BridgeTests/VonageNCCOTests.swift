import Testing

@testable import Bridge

/// That the vendor's package takes them, `test_vonage.py` shows.
@Suite struct VonageNCCOTests {
    @Test func aStreamHasItsTokenAndTheCallsID() {
        let ncco = VonageNCCO.stream("wss://h/a", sampleRate: 16_000, number: "+15550199", callID: "u1", token: "t1")
        #expect(
            ncco.text == #"[{"action":"connect","endpoint":[{"content-type":"audio/l16;rate=16000","#
                + #""headers":{"token":"t1","uuid":"u1"},"type":"websocket","uri":"wss://h/a"}],"from":"15550199"}]"#)
    }

    @Test(arguments: [nil, "", "anonymous", "sip:a@b"]) func whatIsNoNumberIsNotShown(_ number: String?) {
        let ncco = VonageNCCO.stream("wss://h/a", sampleRate: 8_000, number: number, callID: "u1", token: "t1")
        #expect(!ncco.text.contains("from") && ncco.text.contains("rate=8000"))
    }

    @Test func aCallIsHandedToANumberOrASipAddress() {
        #expect(
            VonageNCCO.dial("+15550177", callerID: "+15550100", ringSeconds: 30, next: "https://h/n?l=ko").text
                == #"[{"action":"connect","endpoint":[{"number":"15550177","type":"phone"}],"eventMethod":"POST","#
                + #""eventType":"synchronous","eventUrl":["https://h/n?l=ko"],"from":"15550100","timeout":30}]"#)
        let sip = VonageNCCO.dial("sip:a@b", callerID: nil, ringSeconds: 900, next: "https://h/n").text
        #expect(sip.contains(#"{"type":"sip","uri":"sip:a@b"}"#) && sip.contains(#""timeout":120"#))
        #expect(!sip.contains("from"))
    }

    @Test func wordsAreSaidAndTheCallEnds() {
        let said = VonageNCCO.say(#"a "b""#, language: "en-US").text
        #expect(said == #"[{"action":"talk","language":"en-US","text":"a \"b\""}]"# && VonageNCCO.hangUp.text == "[]")
    }
}
