import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct SessionDescriptionTests {
    @Test func anAnswerIsUnderstood() throws {
        let sdp = """
            v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\n\
            m=audio 4000 RTP/AVP 8 0 96\r\na=rtpmap:8 PCMA/8000\r\n\
            a=rtpmap:96 telephone-event/8000\r\na=ptime:30\r\na=sendonly\r\n
            """
        let parsed = try SessionDescription(parsing: sdp)
        #expect(parsed.address == SocketAddress("192.0.2.9", port: 4_000))
        #expect(parsed.codecs == [.aLaw, .muLaw] && parsed.telephoneEvent == 96 && parsed.ptime == 30)
        #expect(parsed.direction == .sendonly && parsed.answerDirection == .recvonly)
    }

    @Test(arguments: [
        "", "v=0\r\n", "m=video 4000 RTP/AVP 96\r\n", "m=audio x RTP/AVP 0\r\n", "m=audio 4000 UDP/TLS/RTP/SAVP 0\r\n",
        "m=audio 99999 RTP/AVP 0\r\n",
    ])
    func nonsenseIsAnError(sdp: String) { #expect(throws: SDPError.self) { _ = try SessionDescription(parsing: sdp) } }

    @Test func holdByZeroAddressHasNoAddress() throws {
        let parsed = try SessionDescription(parsing: "v=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 4000 RTP/AVP 0\r\n")
        #expect(parsed.address == nil && parsed.codecs == [.muLaw])
    }

    @Test(arguments: [
        "255.255.255.255", "224.0.0.1", "239.255.255.250/127", "240.0.0.1", "169.254.1.1", "169.254.169.254", "0.0.0.1",
        "0.255.255.255", "127.0.0.1",
        "127.255.255.255", "localhost", "example.com", "", "1.2.3", "256.1.1.1", "::1", "0x7f.0.0.1", "2130706433",
        "0177.0.0.1",
    ])
    func audioGoesToNoSuchAddress(host: String) {
        #expect(throws: SDPError.self) {
            _ = try SessionDescription(parsing: "v=0\r\nc=IN IP4 \(host)\r\nm=audio 4000 RTP/AVP 0\r\n")
        }
    }
    @Test(arguments: [
        "10.0.0.1", "192.168.1.9", "192.0.2.9", "1.0.0.1", "223.255.255.254", "169.253.1.1", "169.255.1.1", "128.0.0.1",
        "126.0.0.1",
    ])
    func audioGoesToHosts(host: String) throws {
        #expect(
            try SessionDescription(parsing: "v=0\r\nc=IN IP4 \(host)\r\nm=audio 4000 RTP/AVP 0\r\n").address
                == SocketAddress(host, port: 4_000))
    }
    @Test(arguments: ["0", "1", "53", "123", "1023"])
    func audioGoesToNoSuchPort(port: String) {
        #expect(throws: SDPError.self) {
            _ = try SessionDescription(parsing: "v=0\r\nc=IN IP4 192.0.2.9\r\nm=audio \(port) RTP/AVP 0\r\n")
        }
    }
    @Test func loopbackIsForPeersOnThisMachine() throws {
        let offer = "v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 4000 RTP/AVP 0\r\n"
        var elsewhere = OfferAnswer(host: "192.0.2.1", port: 10_000, isSecure: false, peer: "192.0.2.9")
        #expect(throws: SDPError.self) { _ = try elsewhere.answer(offer) }
        var here = OfferAnswer(host: "192.0.2.1", port: 10_000, isSecure: false, peer: "127.0.0.1")
        #expect(try here.answer(offer).terms.remote.address?.port == 4_000)
        var inside = OfferAnswer(host: "127.0.0.1", port: 10_000, isSecure: false)
        #expect(try inside.answer(offer).terms.remote.address?.port == 4_000)
    }

    @Test func ourOfferParses() throws {
        let offer = SessionDescription.body(
            host: "127.0.0.1", port: 10_002, codecs: [.muLaw, .aLaw], telephoneEvent: 101, session: 1, version: 1)
        let parsed = try SessionDescription(parsing: offer, allowsLoopback: true)
        #expect(parsed.codecs == [.muLaw, .aLaw] && parsed.telephoneEvent == 101 && parsed.address?.port == 10_002)
        #expect(offer.contains("s=Talk\r\n") && offer.contains("a=rtcp:10003\r\n"))
    }
}
