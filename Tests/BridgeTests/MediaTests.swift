import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

/// Offer and answer, keys, reports: what two ends agree on, and what they tell each other of the line.
@Suite struct OfferAnswerTests {
    private func ends(secure: Bool = false) -> (OfferAnswer, OfferAnswer) {
        (
            OfferAnswer(host: "192.0.2.1", port: 10_000, isSecure: secure),
            OfferAnswer(host: "192.0.2.2", port: 20_000, isSecure: false)
        )
    }

    @Test func twoEndsAgree() throws {
        var (a, b) = ends()
        let (body, theirs) = try b.answer(a.offer())
        let ours = try a.accept(body)
        #expect(ours.law == .muLaw && theirs.law == .muLaw && ours.keys == nil && !ours.isHeld)
        #expect(ours.remote.address?.description == "192.0.2.2:20000" && theirs.remote.telephoneEvent == 101)
        // Hold, and back; the version of the body rises (RFC 3264 §8).
        let hold = try b.answer(a.offer().replacing("a=sendrecv", with: "a=sendonly"))
        let resumed = try b.answer(a.offer())
        #expect(hold.terms.isHeld && hold.body.contains("a=recvonly") && !resumed.terms.isHeld)
        let versions = [body, hold.body].compactMap {
            $0.split(separator: "\r\n").first { $0.hasPrefix("o=") }?.split(separator: " ")[2]
        }
        #expect(versions.count == 2 && versions[0] != versions[1])
    }

    @Test func keysCrossAndAreNeverDropped() throws {
        var (a, b) = ends(secure: true)
        let offer = a.offer()
        #expect(
            offer.contains("m=audio 10000 RTP/SAVP 0 8 101")
                && offer.contains("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:"))
        let (body, theirs) = try b.answer(offer)
        let ours = try a.accept(body)
        #expect(ours.keys?.local == theirs.keys?.remote && ours.keys?.remote == theirs.keys?.local && ours.keys != nil)
        // A re-INVITE keeps the key; one without is refused.
        #expect(try b.answer(a.offer()).terms.keys == theirs.keys)
        #expect(throws: SDPError.self) { try b.answer(offer.replacing("RTP/SAVP", with: "RTP/AVP")) }
        var (c, d) = ends(secure: true)
        let plain = try d.answer(c.offer()).body.replacing("RTP/SAVP", with: "RTP/AVP")
        #expect(throws: SDPError.self) { try c.accept(plain) }
        var (e, f) = ends(secure: true)
        let short = e.offer().replacing("_80", with: "_32")
        #expect(try f.answer(short).terms.keys?.local.suite == .sha1Tag32)
    }

    @Test(arguments: [
        "1 AES_CM_128_HMAC_SHA1_80 inline:AAAA",
        "1 AES_256_CM_HMAC_SHA1_80 inline:\(String(repeating: "A", count: 40))", "x y z",
        "1 AES_CM_128_HMAC_SHA1_80",
        "1 AES_CM_128_HMAC_SHA1_80 inline:\(String(repeating: "A", count: 40))|2^31|1:1",
        "-1 AES_CM_128_HMAC_SHA1_80 inline:\(String(repeating: "A", count: 40))",
    ]) func keysThatAreNone(_ value: String) { #expect(SRTPKey(parsing: value) == nil) }

    @Test func whatIsEncryptedIsOpenedOnce() throws {
        let key = SRTPKey.random()
        let encrypting = try #require(SecureRTP(key, isInbound: false)),
            opening = try #require(SecureRTP(key, isInbound: true))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 200, alignment: 8)
        defer { buffer.deallocate() }
        RTPPacket.writeHeader(into: buffer, payloadType: 0, marker: true, sequence: 7, timestamp: 160, ssrc: 9)
        for index in 12..<172 { buffer[index] = UInt8(index) }
        let length = try #require(encrypting.protect(buffer, length: 172))
        #expect(length == 182 && buffer[12] != 12)
        let encrypted = Array(buffer[..<length])
        #expect(
            opening.unprotect(UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])) == 172 && buffer[100] == 100)
        // The same packet again, and one with a bit turned, are not heard.
        buffer.copyBytes(from: encrypted)
        #expect(opening.unprotect(UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])) == nil)
        let fresh = try #require(SecureRTP(key, isInbound: true))
        buffer.copyBytes(from: encrypted)
        buffer[50] ^= 1
        #expect(fresh.unprotect(UnsafeMutableRawBufferPointer(rebasing: buffer[..<length])) == nil)
    }
}

/// SRTP against who has no key, the wrong one, or packets that he has heard (RFC 3711 §3.3).
@Suite struct EncryptedMediaTests {
    private static func packet(_ key: SRTPKey, sequence: UInt16, encryptedBy given: SecureRTP? = nil) throws -> [UInt8]
    {
        let encrypting = try #require(given ?? SecureRTP(key, isInbound: false))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 200, alignment: 8)
        defer { buffer.deallocate() }
        RTPPacket.writeHeader(
            into: buffer, payloadType: 0, marker: false, sequence: sequence, timestamp: UInt32(sequence) * 160, ssrc: 9)
        for index in 12..<172 { buffer[index] = 0xFF }
        return Array(buffer[..<(try #require(encrypting.protect(buffer, length: 172)))])
    }
    private func opens(_ session: SecureRTP, _ packet: [UInt8]) -> Bool {
        var bytes = packet
        return bytes.withUnsafeMutableBytes { session.unprotect($0) } != nil
    }

    @Test(arguments: SRTPKey.Suite.allCases) func anotherKeyOpensNothing(suite: SRTPKey.Suite) throws {
        let key = SRTPKey.random(suite: suite), other = SRTPKey.random(suite: suite)
        let encrypted = try Self.packet(other, sequence: 1)
        let opening = try #require(SecureRTP(key, isInbound: true))
        #expect(!opens(opening, encrypted))
        // One bit of the key or of its salt, too.
        for index in [0, 15, 16, 29] {
            var near = key
            near.bytes[index] ^= 1
            let forged = try Self.packet(near, sequence: UInt16(index))
            #expect(!opens(opening, forged))
        }
        let good = try Self.packet(key, sequence: 40)
        #expect(opens(opening, good), "what was forged has not harmed it")
    }
    @Test func plainAndTruncatedPacketsAreNotHeard() throws {
        let key = SRTPKey.random()
        let opening = try #require(SecureRTP(key, isInbound: true))
        let encrypted = try Self.packet(key, sequence: 5)
        for length in 0..<encrypted.count { #expect(!opens(opening, Array(encrypted[..<length]))) }
        for index in encrypted.indices {
            var turned = encrypted
            turned[index] ^= 0x40
            #expect(!opens(opening, turned))
        }
        #expect(opens(opening, encrypted))
    }
    @Test func replaysAreNotHeardInsideAndBehindTheWindow() throws {
        let key = SRTPKey.random()
        let encrypting = try #require(SecureRTP(key, isInbound: false)),
            opening = try #require(SecureRTP(key, isInbound: true))
        var heard: [[UInt8]] = []
        for sequence in 0..<400 {
            heard.append(try Self.packet(key, sequence: UInt16(sequence), encryptedBy: encrypting))
            let isNew = opens(opening, heard[sequence])
            #expect(isNew)
        }
        #expect(!heard.contains { opens(opening, $0) })
    }
    /// One session, and a socket that sends to it what a stranger can.
    @Test func aSessionHearsOnlyTheKeyThatWasAgreedOn() async throws {
        let ours = SRTPKey.random(), theirs = SRTPKey.random()
        let loop = try EventLoop(name: "sealed")
        loop.start()
        let encrypted = try Self.packet(theirs, sequence: 1), wrong = try Self.packet(ours, sequence: 2)
        let counts: (received: Int, malformed: Int) = try await withCheckedThrowingContinuation { done in
            loop.post {
                do {
                    let session = try RTPSession(loop: loop, host: "127.0.0.1", ports: PortRange(41_000...42_000))
                    let peer = try RTPSession(loop: loop, host: "127.0.0.1", ports: PortRange(42_002...43_000))
                    let remote = try SessionDescription(
                        parsing: "v=0\r\nc=IN IP4 127.0.0.1\r\nm=audio \(peer.localPort) RTP/SAVP 0\r\n",
                        allowsLoopback: true)
                    session.negotiate(MediaTerms(remote: remote, law: .muLaw, keys: .init(local: ours, remote: theirs)))
                    var plain = encrypted
                    plain.removeLast(10)
                    // As if they had come by its socket, from the signalled address.
                    let source = try #require(SocketAddress("127.0.0.1", port: peer.localPort))
                    for packet in [plain, wrong, encrypted, encrypted, wrong] {
                        packet.withUnsafeBytes { session.received($0, from: source) }
                    }
                    let counted = session.statistics
                    session.close()
                    peer.close()
                    done.resume(returning: (counted.received, counted.malformed))
                } catch { done.resume(throwing: error) }
            }
        }
        loop.stop()
        #expect(counts.received == 1 && counts.malformed == 4)
    }
}

@Suite struct RTCPTests {
    /// Ticks that are made up for are dated when they were due: a report may have come after that, and must not end the
    /// process.
    @Test func aReportFromTheFutureIsNoMatter() {
        var reception = Reception(), ours = RTCP(), theirs = RTCP()
        reception.received(ssrc: 5, sequence: 1, timestamp: 0, now: 10_000)
        let report = theirs.packet(ssrc: 5, timestamp: 0, packets: 1, octets: 160, reception: &reception, now: 10_000)
        let isReport = report.withUnsafeBytes { ours.receive($0, ours: 9, now: 10_000) }
        let answer = ours.packet(ssrc: 9, timestamp: 0, packets: 1, octets: 160, reception: &reception, now: 9_900)
        // Delay since the last report, the last word of the block (§6.4.1).
        #expect(isReport && Array(answer[48..<52]) == [0, 0, 0, 0])
    }

    @Test func reportsTellOfLossJitterAndRoundTrip() throws {
        var reception = Reception(), ours = RTCP(), theirs = RTCP()
        // Of 100 packets every tenth is missing; every other one comes 10 ms late.
        for index in 0..<100 where index % 10 != 9 {
            reception.received(
                ssrc: 5, sequence: UInt16(truncatingIfNeeded: 65_500 + index), timestamp: UInt32(index * 160),
                now: UInt64(1_000 + index * 20 + (index % 2) * 10))
        }
        #expect((5...11).contains(reception.jitterMs))
        var none = Reception()
        // They report, we answer 40 ms later, that answer takes 60 ms.
        let first = theirs.packet(ssrc: 5, timestamp: 0, packets: 90, octets: 14_400, reception: &none, now: 10_000)
        _ = first.withUnsafeBytes { ours.receive($0, ours: 9, now: 10_060) }
        let second = ours.packet(
            ssrc: 9, timestamp: 0, packets: 100, octets: 16_000, reception: &reception, now: 10_100)
        _ = second.withUnsafeBytes { theirs.receive($0, ours: 5, now: 10_160) }
        let feedback = try #require(theirs.feedback)
        #expect(abs(feedback.lossFraction - 0.09) < 0.02 && abs((feedback.roundTripMs ?? 0) - 120) < 3, "\(feedback)")
        #expect(abs(feedback.jitterMs - reception.jitterMs) < 0.5 && ours.feedback == nil)
        // Damaged packets change nothing.
        for count in 0..<second.count {
            second[..<count].withUnsafeBytes { _ = theirs.receive($0, ours: 5, now: 10_200) }
        }
        for _ in 0..<2_000 {
            let noise = (0..<Int.random(in: 0...120)).map { _ in UInt8.random(in: 0...255) }
            _ = noise.withUnsafeBytes { theirs.receive($0, ours: 5, now: 10_200) }
        }
    }

    @Test func theScoreFallsWithLossAndDelay() {
        #expect(SpeechQuality.score(loss: 0, delayMs: 50) > 4.3 && SpeechQuality.score(loss: 0.05, delayMs: 100) >= 3.6)
        #expect(SpeechQuality.score(loss: 0.2, delayMs: 100) < 3 && SpeechQuality.score(loss: 0, delayMs: 500) < 3.2)
        #expect(SpeechQuality.score(loss: 1, delayMs: 10_000) == 1 && SpeechQuality.score(loss: -1, delayMs: 0) <= 4.5)
    }
}

@Suite struct RegistrarTests {
    @Test func phonesComeAndGo() throws {
        let authenticator = DigestAuthenticator(realm: "t", algorithms: [.md5])
        let secret = DigestAuthenticator.Secret(user: "kim", realm: "t", password: "correct horse")
        let changes = Locked<[String]>([])
        let registrar = Registrar(
            authenticator: authenticator, secret: { $0 == "kim" ? secret : nil },
            onChange: { user, isRegistered in changes.set(changes.get() + ["\(user) \(isRegistered)"]) })
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        var count = 0
        func send(
            _ contacts: [Registration.Contact], expires: Int? = nil, callID: String = "a", sequence: UInt32,
            at date: Date
        ) throws -> SIPReply {
            count += 1
            let challenge = try #require(DigestAuthenticator.parse(authenticator.challenges(at: date)[0]))
            let nonce = try #require(challenge["nonce"])
            let response = DigestAuthenticator.Algorithm.md5.hash(
                "\(secret.md5):\(nonce):00000001:c:auth:\(DigestAuthenticator.Algorithm.md5.hash("REGISTER:sip:t"))")
            return registrar.answer(
                Registration(
                    user: "kim", callID: callID, sequence: sequence, contacts: contacts, expires: expires,
                    authorization:
                        "Digest username=\"kim\", realm=\"t\", nonce=\"\(nonce)\", uri=\"sip:t\", response=\"\(response)\", qop=auth, nc=00000001, cnonce=\"c\"",
                    source: "192.0.2.7", port: 5_062, transport: "tcp"), now: date
            ).reply
        }
        #expect(try send([.init(uri: "sip:kim@10.0.0.1:5060", expires: 100)], sequence: 1, at: now).status == 200)
        #expect(
            registrar.phones(of: "kim", now: now).map(\.route) == ["sip:192.0.2.7:5062;transport=tcp"],
            "the way back through its NAT")
        // An older request of the same phone is refused, and changes nothing.
        #expect(try send([.init(uri: "sip:kim@10.0.0.1:5060", expires: 0)], sequence: 1, at: now).status == 500)
        #expect(
            try send(
                [.init(uri: "sip:kim@10.0.0.2", expires: nil)], expires: 999_999, callID: "b", sequence: 1, at: now + 1
            ).status == 200)
        #expect(
            registrar.phones(of: "kim", now: now + 50).count == 2
                && registrar.phones(of: "kim", now: now + 200).count == 1)
        #expect(registrar.phones(of: "kim", now: now + 3_602).isEmpty, "an hour at most")
        registrar.expire(now: now + 3_602)
        #expect(changes.get() == ["kim true", "kim false"])
        // All of them or none: one contact too short-lived leaves the others out too.
        #expect(
            try send([.init(uri: "sip:a@b", expires: 600), .init(uri: "sip:c@d", expires: 5)], sequence: 9, at: now)
                .status == 423)
        #expect(registrar.phones(of: "kim", now: now).isEmpty)
    }
}

@Suite struct SIPTraceTests {
    @Test func messagesAreKeptWithoutSecrets() {
        let clock = Locked(Date(timeIntervalSince1970: 1_000))
        let trace = SIPTrace(now: { clock.get() })
        func message(_ head: String, _ lines: [String]) {
            trace.take(
                "\(head) bytes to udp/[192.0.2.1]:5060 at 20:34:55.065843:\n   ------------------------------------------------------------------------\n"
            )
            for line in lines {
                trace.take("   " + line)
                trace.take("\n")
            }
            trace.take("   ------------------------------------------------------------------------\n")
            clock.set(clock.get() + 0.25)
        }
        message(
            "send 300",
            [
                "INVITE sip:1001@192.0.2.1 SIP/2.0", "Call-ID: outbound-ob-1234abcd-1", "CSeq: 1 INVITE",
                "Authorization: Digest username=\"kim\", nonce=\"n0nce\", response=\"deadbeef\", cnonce=\"cc\"", "",
                "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:c2VjcmV0",
            ])
        message("recv 100", ["SIP/2.0 486 Busy Here", "Call-ID: outbound-ob-1234abcd-1", "CSeq: 1 INVITE"])
        message("recv 100", ["OPTIONS sip:x SIP/2.0", "Call-ID: outbound-ob-1234abcd-9", "CSeq: 1 OPTIONS"])
        let kept = trace.messages(of: [], holding: "ob-1234abcd")
        #expect(
            kept.map(\.summary) == ["INVITE sip:1001@192.0.2.1", "486 Busy Here"]
                && kept.map(\.isSent) == [true, false])
        let text = kept[0].text
        #expect(
            !text.contains("n0nce") && !text.contains("deadbeef") && !text.contains("c2VjcmV0")
                && text.contains("username=\"kim\""))
        let ladder = SIPTrace.ladder(kept)
        #expect(
            ladder.contains("udp/192.0.2.1:5060") && ladder.contains("- INVITE sip:1001@192.0.2.")
                && ladder.contains("< 486 Busy Here")
                && ladder.contains("0.250"))
        // A flood pushes out the oldest, and no more than is bounded is kept.
        for index in 0..<(SIPTrace.dialogLimit + 10) {
            message(
                "recv 9",
                ["SIP/2.0 200 OK", "Call-ID: flood-\(index)", "CSeq: 1 INVITE", String(repeating: "x", count: 100)])
        }
        #expect(
            trace.messages(of: [], holding: "ob-1234abcd").isEmpty
                && trace.messages(of: [], holding: "flood-").count == SIPTrace.dialogLimit)
        let long = (0..<4).map { _ in String(repeating: "y", count: 900) }
        for index in 0..<3_000 {
            for _ in 0..<4 { message("recv 9", ["SIP/2.0 200 OK", "Call-ID: long-\(index)"] + long) }
        }
        #expect(trace.size.bytes <= SIPTrace.totalLimit && trace.size.bytes > SIPTrace.totalLimit * 9 / 10)
        // Short messages that take the place of long ones need more memory beside their text, which counts too.
        let longMessages = trace.size.messages
        for index in 0..<400 {
            for _ in 0..<SIPTrace.messageLimit { message("recv 9", ["SIP/2.0 200 OK", "Call-ID: short-\(index)"]) }
        }
        let size = trace.size
        let texts = trace.messages(of: [], holding: "-").reduce(0) { $0 + $1.text.utf8.count }
        #expect(size.messages > longMessages && size.bytes <= SIPTrace.totalLimit)
        #expect(size.bytes >= texts + size.messages * SIPTrace.messageOverhead)
        #expect(trace.messages(of: [], holding: "ob-other").isEmpty && SIPTrace.ladder([]) == "")
    }
}

@Suite struct FrameAssemblerTests {
    private func packet(_ count: Int, _ byte: UInt8 = 0x90) -> [UInt8] { .init(repeating: byte, count: count) }

    @Test(arguments: [(80, 12, 6), (160, 6, 6), (240, 4, 6), (320, 3, 6), (480, 2, 6)])
    func packetsOfAnyLengthMakeFramesOf20Ms(bytes: Int, packets: Int, frames: Int) {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        for index in 0..<packets {
            packet(bytes).withUnsafeBufferPointer {
                assembler.packet($0, law: .muLaw, now: UInt64(1_000 + index), into: &output)
            }
        }
        #expect(output.count == frames && output.allSatisfy { $0.bytes[0] == 0x90 && !$0.isConcealed })
    }

    /// Concealment lasts as long as what was lost, and fades.
    @Test(arguments: [(80, 4, 2), (160, 4, 4), (480, 2, 6)]) func whatIsLostHasTheLengthOfAPacket(
        bytes: Int, lost: Int, frames: Int
    ) {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        for _ in 0..<2 {
            packet(bytes).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: 1_000, into: &output) }
        }
        output.removeAll()
        for _ in 0..<lost { assembler.lost(law: .muLaw, into: &output) }
        #expect(output.count == frames && output.allSatisfy(\.isConcealed) && assembler.concealed == frames)
        let loudness = output.map { abs(Int(MuLaw.decode($0.bytes[0]))) }
        #expect(loudness == loudness.sorted(by: >) && (frames < 4 || loudness[3] == 0))
    }

    /// A phone that stops sending when nobody speaks (DTX): whoever listens is told of silence at the pace of time.
    @Test(arguments: [false, true]) func nothingSentIsSilence(isAnnounced: Bool) {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        assembler.tick(now: 500, law: .muLaw, into: &output)
        #expect(output.isEmpty, "nothing has begun")
        packet(160).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: 1_000, into: &output) }
        if isAnnounced { assembler.comfortNoise(level: 127, now: 1_020) }
        let begin: UInt64 = isAnnounced ? 1_020 : 1_000,
            wait = isAnnounced ? FrameAssembler.announcedGapMs : FrameAssembler.gapMs
        output.removeAll()
        for now in stride(from: begin + 20, to: begin + wait, by: 20) {
            assembler.tick(now: now, law: .muLaw, into: &output)
        }
        #expect(output.isEmpty, "it may be jitter")
        for now in stride(from: begin + wait, through: begin + 3_000, by: 20) {
            assembler.tick(now: now, law: .muLaw, into: &output)
        }
        #expect(output.count == 150 && output.allSatisfy { !$0.isConcealed && MuLaw.decode($0.bytes[7]) == 0 })
        packet(160).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: begin + 3_010, into: &output) }
        assembler.tick(now: begin + 3_030, law: .muLaw, into: &output)
        #expect(output.count == 151)
    }

    @Test func aStopOfOursIsNoLongSilence() {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        packet(160).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: 1_000, into: &output) }
        assembler.tick(now: 61_000, law: .muLaw, into: &output)
        #expect(output.count == 1 + 16)
    }

    @Test(arguments: [UInt8(30), 45, 60]) func noiseIsAsLoudAsTheFarEndSays(level: UInt8) {
        for law in [CompandingLaw.muLaw, .aLaw] {
            var noise = ComfortNoise()
            noise.level = level
            var sum = 0.0
            for _ in 0..<50 {
                let frame = noise.frame(law: law)
                for index in 0..<EncodedFrame.byteCount {
                    let sample = Double(
                        law == .muLaw ? MuLaw.decode(frame.bytes[index]) : ALaw.decode(frame.bytes[index]))
                    sum += sample * sample
                }
            }
            let measured = -20 * log10((sum / Double(50 * EncodedFrame.byteCount)).squareRoot() / 32_767)
            #expect(abs(measured - Double(level)) < 1.5)
        }
    }
}

@Suite struct RelayedClockTests {
    /// An hour of a relayed call between clocks that differ by 200 parts in a million, with 0 to 35 ms of jitter: the
    /// delay stays where it is, and a frame in four minutes or so is left out or missing.
    @Test(arguments: [-200, 200]) func anHourWithAClockThatDiffers(partsPerMillion: Int) {
        var playout = Playout(), reached: [String] = [], random: UInt32 = 1
        var sent = 0, missing = 0, deepest = 0, sum = 0
        let ticks = 3_600 * 50
        var arrivals: [Double] = []
        for tick in 0..<ticks {
            let now = Double(tick) * 20
            while true {
                let due = Double(sent) * 20 * (1 - Double(partsPerMillion) / 1e6)
                guard due <= now else { break }
                random = random &* 1_664_525 &+ 1_013_904_223
                arrivals.append(due + Double(random >> 24) * 35 / 255)
                sent += 1
            }
            for _ in arrivals.prefix(while: { $0 <= now }) {
                playout.append(EncodedFrame())
                arrivals.removeFirst()
            }
            if playout.next(reached: &reached) == nil { missing += 1 }
            playout.keepPace()
            deepest = max(deepest, playout.frames)
            sum += playout.frames
        }
        let drift = 3_600 * 50 * abs(partsPerMillion) / 1_000_000
        #expect(
            deepest <= 5 && Double(sum) / Double(ticks) < 3,
            "\(deepest) frames waited, \(Double(sum) / Double(ticks)) on average")
        #expect(
            partsPerMillion > 0 ? (drift - 5...drift + 5).contains(playout.skipped) : playout.skipped <= 10,
            "\(playout.skipped) left out")
        #expect(partsPerMillion < 0 ? (drift - 5...drift + 20).contains(missing) : missing <= 10, "\(missing) missing")
    }
}
