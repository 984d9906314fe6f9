internal import Net
internal import Pipeline

@testable internal import Bridge

func fuzzRTP(_ input: FuzzInput) {
    input.bytes.withUnsafeBytes { datagram in
        guard let packet = RTPPacket(parsing: datagram) else { return }
        expect(
            packet.payload.lowerBound >= RTPPacket.headerLength && packet.payload.upperBound <= datagram.count,
            "the payload lies outside")
        var written = [UInt8](repeating: 0, count: RTPPacket.headerLength) + datagram[packet.payload]
        written.withUnsafeMutableBytes {
            RTPPacket.writeHeader(
                into: $0, payloadType: packet.payloadType, marker: packet.marker, sequence: packet.sequence,
                timestamp: packet.timestamp,
                ssrc: packet.ssrc)
        }
        written.withUnsafeBytes {
            var expected = packet
            expected.payload = RTPPacket.headerLength..<$0.count
            expect(RTPPacket(parsing: $0) == expected, "what was written again is another packet")
        }
    }
}

func fuzzRTCP(_ input: FuzzInput) {
    var steps = Steps(input)
    let now = UInt64(steps.word())
    var rtcp = RTCP()
    var reception = Reception()
    for _ in 0..<(steps.byte() % 16) {
        let (sequence, timestamp) = (steps.half(), steps.word())
        reception.received(
            ssrc: UInt32(steps.byte() % 2), sequence: sequence, timestamp: timestamp, now: now &+ UInt64(steps.byte()))
        expect(reception.jitter.isFinite && reception.jitter >= 0, "jitter \(reception.jitter)")
    }
    let ours = steps.word()
    let rest = steps.bytes(1_500)
    rest.withUnsafeBytes { _ = rtcp.receive($0, ours: ours, now: now) }
    if let feedback = rtcp.feedback {
        expect((0...1).contains(feedback.lossFraction) && feedback.jitterMs >= 0, "feedback out of range")
        expect(feedback.roundTripMs.map { $0 >= 0 && $0.isFinite } ?? true, "a negative round trip")
        expect(
            (1...4.5).contains(SpeechQuality.score(loss: feedback.lossFraction, delayMs: feedback.jitterMs)),
            "a score out of range")
    }
    // What we send of it is understood by ourselves.
    let packet = rtcp.packet(ssrc: ours, timestamp: 1, packets: 2, octets: 3, reception: &reception, now: now)
    expect(packet.count % 4 == 0 && packet.count < 200, "a report of \(packet.count) bytes")
    var other = RTCP()
    expect(packet.withUnsafeBytes { other.receive($0, ours: 1, now: now) }, "our own report is not understood")
}

func fuzzTelephoneEvent(_ input: FuzzInput) {
    var steps = Steps(input)
    var receiver = TelephoneEvent.Receiver()
    while !steps.isEmpty {
        let timestamp = UInt32(steps.byte())
        let payload = steps.bytes(Int(steps.byte() % 8))
        let digit = payload.withUnsafeBytes { receiver.receive($0, timestamp: timestamp) }
        if let digit {
            expect(payload.count >= 4 && TelephoneEvent.digits.contains(digit), "a digit of nothing")
            var second = TelephoneEvent.Receiver()
            let packets = TelephoneEvent.payloads(for: digit) ?? []
            let heard = packets.compactMap { packet in packet.withUnsafeBytes { second.receive($0, timestamp: 7) } }
            expect(heard == [digit], "\(digit) was heard as \(heard)")
        }
    }
}

/// Each packet comes out once at most and in order, whatever comes in and whenever.
func fuzzJitterBuffer(_ input: FuzzInput) {
    var steps = Steps(input)
    var buffer = JitterBuffer()
    var output: [JitterBuffer.Output] = []
    var now: UInt64 = 1_000
    var sequence: UInt16 = steps.half()
    var given = 0, heard = 0
    var seen: Set<UInt32> = []
    while !steps.isEmpty {
        let step = steps.byte()
        now += UInt64(step >> 3)
        switch step & 7 {
        case 0: sequence = steps.half()
        case 1: sequence &-= UInt16(steps.byte())
        case 2: sequence &+= UInt16(steps.byte())
        default: sequence &+= 1
        }
        given += 1
        // Its number, as its sound.
        let number = withUnsafeBytes(of: UInt32(given)) { JitterBuffer.Payload($0) }
        buffer.insert(sequence: sequence, payload: number, now: now, into: &output)
        if step & 0x40 != 0 { buffer.poll(now: now, into: &output) }
        let most = (JitterBuffer.capacity + 1) * (JitterBuffer.concealLimit + 1)
        expect(output.count <= most, "one packet made \(output.count) come out")
        for item in output {
            guard case .packet(let payload) = item else { continue }
            heard += 1
            let value = payload.withBytes { UnsafeRawBufferPointer($0).loadUnaligned(as: UInt32.self) }
            expect(seen.insert(value).inserted, "a packet came out twice")
        }
        output.removeAll(keepingCapacity: true)
    }
    expect(heard <= given, "more came out than went in")
    // Late, doubled and held ones aside, nothing is swallowed: after the wait all that is held has come.
    buffer.poll(now: now + JitterBuffer.holdMs.upperBound + 1, into: &output)
    heard += output.count { if case .packet = $0 { true } else { false } }
    var resets: [JitterBuffer.Output] = []
    buffer.poll(now: now + 10_000, into: &resets)
    expect(resets.isEmpty, "something was still held")
}

func fuzzFrameAssembler(_ input: FuzzInput) {
    var steps = Steps(input)
    var assembler = FrameAssembler()
    var output: [EncodedFrame] = []
    var now: UInt64 = 0, bytes = 0, lost = 0, sounding = 0
    while !steps.isEmpty {
        let step = steps.byte()
        let law: CompandingLaw = step & 0x80 == 0 ? .muLaw : .aLaw
        let before = output.count
        switch step & 3 {
        case 0:
            let payload = steps.bytes(Int(steps.byte()) * 2)
            bytes += payload.count
            payload.withUnsafeBufferPointer { assembler.packet($0, law: law, now: now, into: &output) }
            sounding += output.count - before
        case 1:
            lost += 1
            assembler.lost(law: law, into: &output)
            expect(output.count - before <= 4, "a lost packet became \(output.count - before) frames")
        case 2: assembler.comfortNoise(level: steps.byte(), now: now)
        default:
            now += UInt64(steps.byte()) * (step & 4 == 0 ? 1 : 1_000)
            assembler.tick(now: now, law: law, into: &output)
            expect(output.count - before <= 17, "a tick made \(output.count - before) frames")
        }
        if output.count > 1_000 { output.removeAll(keepingCapacity: true) }
    }
    expect(sounding * EncodedFrame.byteCount <= bytes, "more sound came out than went in")
}

/// Encrypted and opened it is the same; anything else, changed or repeated, is refused.
func fuzzSRTP(_ input: FuzzInput) {
    var steps = Steps(input)
    let choice = steps.byte()
    let suite: SRTPKey.Suite = choice & 1 == 0 ? .sha1Tag80 : .sha1Tag32
    let isControl = choice & 2 != 0
    let key = SRTPKey(tag: 1, suite: suite, bytes: (0..<30).map { UInt8($0) })
    expect(SRTPKey(parsing: key.attribute.dropFirst("a=crypto:".count)) == key, "our key's line is not understood")
    if let parsed = SRTPKey(parsing: input.text) {
        expect(SRTPKey(parsing: parsed.attribute.dropFirst("a=crypto:".count)) == parsed, "a key changed")
    }
    guard let sealer = SecureRTP(key, isInbound: false), let opener = SecureRTP(key, isInbound: true) else {
        return expect(false, "no session")
    }
    let body = steps.bytes(1_400)
    var hostile = body
    let opened = hostile.withUnsafeMutableBytes { opener.unprotect($0, isControl: isControl) }
    expect(opened == nil, "a packet that was not encrypted was opened")
    var packet = body + [UInt8](repeating: 0, count: SecureRTP.overhead)
    guard
        let encrypted = packet.withUnsafeMutableBytes({ sealer.protect($0, length: body.count, isControl: isControl) })
    else { return }
    expect(encrypted > body.count && encrypted <= packet.count, "encrypted to \(encrypted) bytes")
    var damaged = Array(packet[..<encrypted])
    damaged[input.choice(encrypted)] ^= 1 << UInt8(input.choice(8, salt: 3))
    damaged.withUnsafeMutableBytes {
        expect(opener.unprotect($0, isControl: isControl) == nil, "a damaged packet was opened")
    }
    var first = Array(packet[..<encrypted]), second = first
    let size = first.withUnsafeMutableBytes { opener.unprotect($0, isControl: isControl) }
    expect(size == body.count && Array(first.prefix(body.count)) == body, "opened, it is another packet")
    let again = second.withUnsafeMutableBytes { opener.unprotect($0, isControl: isControl) }
    expect(again == nil, "a repeated packet was opened")
}

/// Time moves on by what each step says; the lock hears one address and sends to one.
func fuzzSourceLock(_ input: FuzzInput) {
    var steps = Steps(input)
    func address(_ byte: UInt8) -> SocketAddress? {
        byte % 5 == 4 ? nil : SocketAddress("127.0.0.\(byte % 5 + 1)", port: 4_000)
    }
    var announced = address(steps.byte())
    var now: UInt64 = 1_000
    var lock = SourceLock(announced: announced, now: now)
    var sequence: UInt16 = 0
    var lastOfSignalled: UInt64?
    while !steps.isEmpty {
        let step = steps.byte()
        now += UInt64(steps.byte()) * 8
        if step & 0xE0 == 0 {
            announced = address(step)
            lock.move(to: announced, now: now)
            lastOfSignalled = nil
            continue
        }
        sequence &+= step & 0x10 == 0 ? 1 : UInt16(steps.byte()) &* 64
        guard let source = address(step % 4) else { continue }
        let before = (heard: lock.heard, target: lock.target)
        let isHeard = lock.admit(source, ssrc: UInt32(step >> 7), sequence: sequence, now: now)
        if source == announced {
            expect(isHeard && lock.heard == source, "the signalled address was not heard")
            lastOfSignalled = now
        }
        expect(isHeard == (lock.heard == source), "heard, but not the one that is listened to")
        expect(isHeard || (lock.heard, lock.target) == before, "a packet that was refused changed something")
        expect(
            lastOfSignalled == nil || source == announced || !isHeard,
            "another one was heard after the signalled address had spoken")
        expect(
            announced == nil ? lock.target == nil : lock.target == announced || lock.target == lock.heard,
            "our packets go elsewhere")
        expect(
            lock.admitsControl(source) == (source.address == (lock.heard ?? announced)?.address),
            "RTCP of another one is read")
    }
}
