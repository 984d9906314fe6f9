import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct SessionDescriptionTests {
    @Test func anAnswerIsUnderstood() throws {
        let sdp = """
            v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8 0 96\r\na=rtpmap:8 PCMA/8000\r\n\
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
    @Test func loopbackIsForThoseOnThisMachine() throws {
        let offer = "v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio 4000 RTP/AVP 0\r\n"
        var elsewhere = OfferAnswer(host: "192.0.2.1", port: 10_000, isSecure: false, peer: "192.0.2.9")
        #expect(throws: SDPError.self) { _ = try elsewhere.answer(offer) }
        var here = OfferAnswer(host: "192.0.2.1", port: 10_000, isSecure: false, peer: "127.0.0.1")
        #expect(try here.answer(offer).terms.remote.address?.port == 4_000)
        var inside = OfferAnswer(host: "127.0.0.1", port: 10_000, isSecure: false)
        #expect(try inside.answer(offer).terms.remote.address?.port == 4_000)
    }

    @Test func ourOfferIsUnderstoodByOurselves() throws {
        let offer = SessionDescription.body(
            host: "127.0.0.1", port: 10_002, codecs: [.muLaw, .aLaw], telephoneEvent: 101, session: 1, version: 1)
        let parsed = try SessionDescription(parsing: offer, allowsLoopback: true)
        #expect(parsed.codecs == [.muLaw, .aLaw] && parsed.telephoneEvent == 101 && parsed.address?.port == 10_002)
        #expect(offer.contains("s=Talk\r\n") && offer.contains("a=rtcp:10003\r\n"))
    }
}

@Suite struct RTPPacketTests {
    private func parse(_ bytes: [UInt8]) -> RTPPacket? { bytes.withUnsafeBytes { RTPPacket(parsing: $0) } }
    private let header: [UInt8] = [0x80, 0x00, 0x12, 0x34, 0, 0, 0, 160, 0, 0, 0, 1]

    @Test func headerAndPayload() throws {
        let packet = try #require(parse(header + [1, 2, 3]))
        #expect(packet.sequence == 0x1234 && packet.timestamp == 160 && packet.ssrc == 1 && packet.payload == 12..<15)
    }
    @Test func extensionContributorsAndPaddingAreSkipped() throws {
        var bytes = header
        bytes[0] = 0x80 | 0x20 | 0x10 | 1
        bytes += [9, 9, 9, 9] + [0xBE, 0xDE, 0, 1, 5, 5, 5, 5] + [7, 7] + [0, 2]
        #expect(try #require(parse(bytes)).payload == 24..<26)
    }
    @Test(
        arguments: [
            [], [0x80], [0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0x9F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0xA0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200],
            [0x80, 72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func malformedPacketsAreRefused(bytes: [UInt8]) { #expect(parse(bytes) == nil) }

    @Test func randomBytesNeverTrap() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            if let packet = parse(bytes) { #expect(packet.payload.upperBound <= bytes.count) }
        }
    }
}

@Suite struct JitterBufferTests {
    /// `5@0`: sequence 5 at 0 ms. Output: sequences in order, `x` for a loss; polled at the end.
    private func run(_ script: [(UInt16, UInt64)], pollAt: UInt64? = nil) -> String {
        var buffer = JitterBuffer()
        var output: [JitterBuffer.Output] = []
        for (sequence, now) in script {
            buffer.poll(now: now, into: &output)
            let payload = withUnsafeBytes(of: UInt8(truncatingIfNeeded: sequence)) { JitterBuffer.Payload($0) }
            buffer.insert(sequence: sequence, payload: payload, now: now, into: &output)
        }
        if let pollAt { buffer.poll(now: pollAt, into: &output) }
        return output.map { if case .packet(let payload) = $0 { payload.withBytes { String($0[0]) } } else { "x" } }
            .joined(separator: " ")
    }
    @Test func packetsInOrderLeaveAtOnce() { #expect(run([(1, 0), (2, 20), (3, 40)]) == "1 2 3") }
    @Test func swappedPacketsAreSorted() { #expect(run([(1, 0), (3, 20), (2, 30), (4, 60)]) == "1 2 3 4") }
    @Test func aGapIsWaitedForThenConcealed() {
        #expect(run([(1, 0), (3, 20)]) == "1")
        #expect(run([(1, 0), (3, 20)], pollAt: 59) == "1")
        #expect(run([(1, 0), (3, 20)], pollAt: 60) == "1 x 3")
    }
    @Test func lateAndDoubledPacketsAreDropped() {
        #expect(run([(1, 0), (2, 20), (2, 21), (1, 22), (4, 40), (4, 41), (3, 45)]) == "1 2 3 4")
    }
    @Test func sequenceNumbersWrap() { #expect(run([(65_535, 0), (0, 20), (1, 40)]) == "255 0 1") }
    @Test func aRestartIsFollowed() {
        #expect(run([(100, 0), (101, 20), (30_000, 40), (30_001, 60)]) == "100 101 48 49")
    }
    @Test func aLongGapIsNotFilledForEver() {
        let output = run([(1, 0), (200, 4_000)], pollAt: 4_200)
        #expect(output.split(separator: " ").count { $0 == "x" } == JitterBuffer.concealLimit)
    }
}

@Suite struct TelephoneEventTests {
    @Test func everyPacketOfADigitReportsItOnce() throws {
        var receiver = TelephoneEvent.Receiver()
        let payloads = try #require(TelephoneEvent.payloads(for: "5"))
        let digits = payloads.compactMap { payload in payload.withUnsafeBytes { receiver.receive($0, timestamp: 1_000) }
        }
        #expect(digits == ["5"])
        #expect(payloads.suffix(3).allSatisfy { $0[1] & 0x80 != 0 }, "the end is sent three times")
    }
    @Test func lostFirstPacketsDoNotLoseTheDigit() throws {
        var receiver = TelephoneEvent.Receiver()
        let payloads = try #require(TelephoneEvent.payloads(for: "#"))
        #expect(
            payloads.suffix(1).compactMap { payload in payload.withUnsafeBytes { receiver.receive($0, timestamp: 7) } }
                == ["#"])
    }
    @Test func nonsenseIsIgnored() {
        var receiver = TelephoneEvent.Receiver()
        let digits = [[], [1, 2], [16, 0, 0, 0], [255, 0, 0, 0]].compactMap { (bytes: [UInt8]) in
            bytes.withUnsafeBytes { receiver.receive($0, timestamp: 1) }
        }
        #expect(digits.isEmpty)
        #expect(TelephoneEvent.payloads(for: "x") == nil)
    }
}

@Suite struct PlayoutTests {
    @Test func marksComeBackWhenWhatIsBeforeThemHasLeft() {
        var playout = Playout()
        var reached: [String] = []
        playout.append(EncodedFrame(turn: 1))
        playout.append(mark: "a")
        playout.append(EncodedFrame(turn: 2))
        let first = playout.next(reached: &reached)
        #expect(first?.turn == 1 && reached == [])
        let second = playout.next(reached: &reached)
        #expect(second?.turn == 2 && reached == ["a"])
        let third = playout.next(reached: &reached)
        #expect(third == nil)
    }
    @Test func clearGivesTheMarksBack() {
        var playout = Playout()
        playout.append(EncodedFrame())
        playout.append(mark: "a")
        let marks = playout.clear()
        #expect(marks == ["a"] && playout.frames == 0)
    }
    @Test func itIsBounded() {
        var playout = Playout()
        for _ in 0...Playout.capacity { playout.append(EncodedFrame()) }
        #expect(playout.frames == Playout.capacity && playout.refused == 1)
    }
}

@Suite struct ConcealmentTests {
    @Test func itFadesToSilence() {
        var concealment = Concealment()
        var loud = EncodedFrame()
        for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(10_000) }
        concealment.heard(loud)
        let levels = (0..<4).map { _ in abs(Int(MuLaw.decode(concealment.conceal(law: .muLaw).bytes[0]))) }
        #expect(levels[0] > levels[1] && levels[1] > levels[2] && levels[3] == 0)
    }
}

@Suite struct LegTests {
    /// Two legs on one loop, talking RTP over loopback, each joined to one end of a pair.
    @Test(arguments: [10, 20, 30, 60]) func framesAndDigitsCrossTheWire(packetMs: Int) async throws {
        let loop = try EventLoop(name: "leg-test")
        loop.start()
        defer { loop.stop() }
        let heard = await LegPair.run(on: loop, packetMs: packetMs)
        #expect(heard.frames > 10 && heard.loudest > 5_000 && heard.digits == ["7", "7", "#"])
        #expect(heard.marks == ["done"])
    }
}

/// Confined to its loop.
private final class LegPair {
    struct Heard: Sendable { var frames = 0, loudest = 0, digits: [Character] = [], marks: [String] = [] }
    private var heard = Heard()
    private var legs: [Leg] = []
    private var ends: [any MediaStream] = []
    private var ticker: EventLoop.Ticker?

    static func run(on loop: EventLoop, packetMs: Int = 20) async -> Heard {
        await withCheckedContinuation { continuation in
            loop.post {
                let pair = LegPair()
                guard let a = try? RTPSession(loop: loop, host: "127.0.0.1", ports: PortRange(41_000...41_100)),
                    let b = try? RTPSession(loop: loop, host: "127.0.0.1", ports: PortRange(41_000...41_100))
                else { return continuation.resume(returning: Heard()) }
                for (mine, theirs) in [(a, b), (b, a)] {
                    let sdp = SessionDescription.body(
                        host: "127.0.0.1", port: theirs.localPort, codecs: [.aLaw], telephoneEvent: 101, session: 1,
                        version: 1
                    ).replacing("a=ptime:20", with: "a=ptime:\(packetMs)")
                    if let description = try? SessionDescription(parsing: sdp, allowsLoopback: true) {
                        mine.negotiate(MediaTerms(remote: description, law: .aLaw))
                    }
                    let stream = MediaStreamPair.make()
                    pair.ends.append(stream.application)
                    pair.legs.append(
                        Leg(rtp: mine, stream: stream.carrier, start: StreamStart(streamID: "s", callID: "c")))
                }
                pair.ends[1].onMessage = { message in
                    if case .media(let frame) = message {
                        pair.heard.frames += 1
                        for index in frame.bytes.indices {
                            pair.heard.loudest = max(pair.heard.loudest, abs(Int(ALaw.decode(frame.bytes[index]))))
                        }
                    }
                    if case .dtmf(let digit) = message { pair.heard.digits.append(digit) }
                }
                pair.ends[0].onMessage = { if case .mark(let name) = $0 { pair.heard.marks.append(name) } }
                for leg in pair.legs { leg.open() }
                var loud = EncodedFrame()
                for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(8_000) }
                for _ in 0..<5 { pair.ends[0].send(.media(loud)) }
                pair.ends[0].send(.mark("done"))
                for digit in "77#" { pair.ends[0].send(.dtmf(digit)) }
                let end = EventLoop.nowMs() + 1_100
                pair.ticker = loop.addTicker { now in
                    guard now >= end else { return }
                    pair.ticker?.cancel()
                    for leg in pair.legs { leg.close() }
                    continuation.resume(returning: pair.heard)
                }
            }
        }
    }
}

@Suite struct TwilioSignatureTests {
    /// The example of twilio.com/docs/usage/security.
    private let form: [(name: String, value: String)] = [
        ("CallSid", "CA1234567890ABCDE"), ("Caller", "+14158675309"), ("Digits", "1234"), ("From", "+14158675309"),
        ("To", "+18005551212"),
    ]
    private let url = "https://mycompany.com/myapp.php?foo=1&bar=2"
    private let signature = TwilioSignature(authToken: "12345")

    @Test func theVendorsExample() {
        #expect(signature.signature(url: url, form: form) == "RSOYDt4T1cUTdK1PDd93/VVr8B8=")
        #expect(signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, form: form.reversed()))
    }
    @Test func anotherUrlFieldOrTokenIsRefused() {
        #expect(!signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url + "3", form: form))
        #expect(!signature.isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, form: form + [("X", "1")]))
        #expect(!TwilioSignature(authToken: "12346").isValid("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url: url, form: form))
        #expect(!signature.isValid("", url: url, form: form) && !signature.isValid("not base64!", url: url, form: form))
    }
    @Test(arguments: ["https://h/p", "https://h:443/p", "wss://h/p", "wss://h:443/p", "https://h/p/"])
    func spellingsOfOneAddressAreOne(signed: String) {
        let code = signature.signature(url: signed, form: [])
        #expect(signature.isValid(code, url: "wss://h/p"))
        #expect(!signature.isValid(code, url: "wss://h/q"))
    }
}

@Suite struct TwiMLTests {
    @Test func textIsEscaped() {
        #expect(
            TwiML.connect(stream: "wss://h/a&b", parameters: [("k", "\"<'>&\u{1}")])
                == #"<?xml version="1.0" encoding="UTF-8"?><Response><Connect><Stream url="wss://h/a&amp;b"><Parameter name="k" value="&quot;&lt;&apos;&gt;&amp;"/></Stream></Connect></Response>"#
        )
    }
}
