public import Net
public import Pipeline

/// Ports that calls may use for RTP: even ones, the odd one above is RTCP's.
public struct PortRange: Sendable, Equatable {
    public var ports: ClosedRange<UInt16>
    public init(_ ports: ClosedRange<UInt16>) { self.ports = ports }

    /// The even ports, starting at a random one, so that a port just freed is not used again at once.
    var candidates: [UInt16] {
        let even = stride(
            from: Int(ports.lowerBound) + Int(ports.lowerBound & 1), through: Int(ports.upperBound), by: 2
        ).map { UInt16($0) }
        guard let start = even.indices.randomElement() else { return [] }
        return Array(even[start...] + even[..<start])
    }
}

/// The RTP of one leg: packets in order in, frames out. Confined to its loop.
public final class RTPSession {
    /// What has been counted, for the call's page.
    public struct Statistics: Sendable, Equatable {
        public var received = 0
        public var sent = 0
        public var lost = 0
        public var late = 0
        public var concealed = 0
        public var rejectedSource = 0
        public var malformed = 0
        /// Of the packets that came (RFC 3550, A.8).
        public var jitterMs = 0.0
        /// By RTCP; nil: the far end sends none.
        public var roundTripMs: Double?
        /// Share of our packets that the far end missed last, 0–1.
        public var remoteLoss: Double?
        /// Of what we heard, 1–4.5; nil: nothing came.
        public var opinionScore: Double?
    }

    public let loop: EventLoop
    public private(set) var localPort: UInt16 = 0
    /// A frame of the caller's speech, in order, as it arrives.
    public var onFrame: ((EncodedFrame) -> Void)?
    public var onDigit: ((Character) -> Void)?
    /// A frame of speech has just left; for measuring on the wire.
    public var onTransmit: ((EncodedFrame) -> Void)?
    /// When the last packet was admitted, loop milliseconds.
    public private(set) var lastPacketMs: UInt64

    private var socket: (any DatagramPort)?
    /// RTCP, on the port above.
    private var control: (any DatagramPort)?
    private var reports = RTCP()
    private var reception = Reception()
    private var octets = 0
    /// Where our packets go.
    private var remote: SocketAddress? { lock.target }
    private var law: CompandingLaw = .muLaw
    private var eventType: UInt8?
    private var lock = SourceLock(announced: nil, now: 0)
    private var jitter = JitterBuffer()
    private var assembler = FrameAssembler()
    private var events = TelephoneEvent.Receiver()
    private var ordered: [JitterBuffer.Output] = []
    private var spareOrdered: [JitterBuffer.Output] = []
    private var ready: [EncodedFrame] = []
    private var spareReady: [EncodedFrame] = []
    /// Bytes of a packet of ours, as the far end wants them (ptime), and those that wait for it to be full.
    private var packetBytes = EncodedFrame.byteCount
    private var waiting = 0
    private var waitingTimestamp: UInt32 = 0
    private var ssrc = UInt32.random(in: 1...UInt32.max)
    private var sequence = UInt16.random(in: 0...UInt16.max)
    private var timestamp = UInt32.random(in: 0...UInt32.max)
    private var needsMarker = true
    private var counted = Statistics()
    private let packet = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RTPPacket.headerLength + JitterBuffer.Payload.capacity + SecureRTP.overhead, alignment: 8)
    private let outgoing = UnsafeMutableRawBufferPointer.allocate(
        byteCount: JitterBuffer.Payload.capacity + EncodedFrame.byteCount, alignment: 8)
    /// SRTP, each way, and the keys that it was made of.
    private var encrypting: SecureRTP?
    private var opening: SecureRTP?
    private var keys: MediaTerms.Keys?
    /// What came, opened in place.
    private let opened = UnsafeMutableRawBufferPointer.allocate(byteCount: 2_048, alignment: 8)
    /// Digits that wait, and what is left of the one that is being sent.
    private var digits: [Character] = []
    private var digitPayloads: [[UInt8]] = []
    private var digitGap = 0
    /// Digits that wait at most, and ticks of silence after each (80 ms; ITU-T Q.24 wants 65).
    private static let digitLimit = 64
    private static let digitGapTicks = 4
    private var digitTimestamp: UInt32 = 0

    /// Binds a port of the range. On the loop only.
    /// - Throws: `NetError.addressInUse` when all are taken.
    public init(
        loop: EventLoop, host: String, ports: PortRange, network: any DatagramNetwork = SystemDatagrams()
    ) throws(NetError) {
        self.loop = loop
        self.lastPacketMs = loop.timeMs
        for port in ports.candidates {
            guard let address = SocketAddress(host, port: port) else {
                throw NetError(.cannotBind, "the RTP host must be an IPv4 address, not \(host)")
            }
            do {
                socket = try network.open(on: loop, bind: address) { [unowned self] in
                    self.received($0, from: $1)
                }
                localPort = port
                // Without it there are no reports, and a call all the same.
                if port < .max, let above = SocketAddress(host, port: port + 1) {
                    control = try? network.open(on: loop, bind: above) { [unowned self] in
                        self.receivedControl($0, from: $1)
                    }
                }
                return
            } catch  where error.code == .addressInUse {
                continue
            }
        }
        throw NetError(.addressInUse, "no RTP port is free in \(ports.ports.lowerBound)-\(ports.ports.upperBound)")
    }

    deinit {
        packet.deallocate()
        outgoing.deallocate()
        opened.deallocate()
    }

    public var statistics: Statistics {
        var result = counted
        result.lost = jitter.lost
        result.late = jitter.late
        result.concealed = assembler.concealed
        result.rejectedSource = lock.rejected
        result.jitterMs = reception.jitterMs
        result.roundTripMs = reports.feedback?.roundTripMs
        result.remoteLoss = reports.feedback?.lossFraction
        if counted.received > 0 {
            let missing = Double(jitter.lost + jitter.late) / Double(counted.received + jitter.lost)
            // What packet time, order and the far end's own buffer add.
            result.opinionScore = SpeechQuality.score(
                loss: missing, delayMs: (reports.feedback?.roundTripMs ?? 0) / 2 + 2 * reception.jitterMs + 60)
        }
        return result
    }

    /// What offer and answer agreed on.
    public func negotiate(_ terms: MediaTerms) {
        law = terms.law
        eventType = terms.remote.telephoneEvent
        lock.move(to: terms.remote.address, now: loop.timeMs)
        packetBytes = min(JitterBuffer.Payload.capacity, max(80, terms.remote.ptime / 10 * 80))
        waiting = 0
        guard terms.keys != keys else { return }
        // The counters of a key go on as long as it does.
        if !SRTPKey.isSame(terms.keys?.local, keys?.local) {
            encrypting = terms.keys.flatMap { SecureRTP($0.local, isInbound: false) }
        }
        if !SRTPKey.isSame(terms.keys?.remote, keys?.remote) {
            opening = terms.keys.flatMap { SecureRTP($0.remote, isInbound: true) }
        }
        keys = terms.keys
    }

    /// The call is answered: from now on the far end has its time to speak (an offer may be much older).
    public func begin() { lock.begin(now: loop.timeMs) }

    func received(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress) {
        guard keys != nil else { return take(datagram, from: source) }
        // Nothing is heard that is not encrypted with the far end's key.
        guard let opening, datagram.count <= opened.count else {
            counted.malformed += 1
            return
        }
        opened.copyMemory(from: datagram)
        guard let length = opening.unprotect(UnsafeMutableRawBufferPointer(rebasing: opened[..<datagram.count])) else {
            counted.malformed += 1
            return
        }
        take(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(opened)[..<length]), from: source)
    }

    private func take(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress) {
        guard let parsed = RTPPacket(parsing: datagram) else {
            counted.malformed += 1
            return
        }
        let now = loop.timeMs
        // Where it comes from is also where ours go (symmetric RTP, RFC 4961).
        guard lock.admit(source, ssrc: parsed.ssrc, sequence: parsed.sequence, now: now) else { return }
        lastPacketMs = now
        counted.received += 1
        reception.received(ssrc: parsed.ssrc, sequence: parsed.sequence, timestamp: parsed.timestamp, now: now)
        let payload = UnsafeRawBufferPointer(rebasing: datagram[parsed.payload])
        // An event, or what we cannot read, has its place in the row of sequence numbers, but no sound.
        var sound = JitterBuffer.Payload()
        if let eventType, parsed.payloadType == eventType {
            if let digit = events.receive(payload, timestamp: parsed.timestamp) { onDigit?(digit) }
        } else if parsed.payloadType == SessionDescription.payloadType(law) {
            sound = JitterBuffer.Payload(payload)
        } else if parsed.payloadType == SessionDescription.comfortNoise, let level = payload.first {
            assembler.comfortNoise(level: level & 0x7F, now: now)
        }
        jitter.insert(sequence: parsed.sequence, payload: sound, now: now, into: &ordered)
        deliver()
    }

    /// Once a tick.
    public func poll(now: UInt64) {
        if reports.isDue(now), counted.sent > 0 {
            sendControl(
                reports.packet(
                    ssrc: ssrc, timestamp: timestamp, packets: counted.sent, octets: octets, reception: &reception,
                    now: now))
        }
        jitter.poll(now: now, into: &ordered)
        deliver()
        assembler.tick(now: now, law: law, into: &ready)
        handOver()
    }

    private func receivedControl(_ datagram: UnsafeRawBufferPointer, from source: SocketAddress) {
        // Only from the source of the media.
        guard lock.admitsControl(source), datagram.count <= opened.count else { return }
        guard keys != nil else {
            if reports.receive(datagram, ours: ssrc, now: loop.timeMs) { lastPacketMs = loop.timeMs }
            return
        }
        opened.copyMemory(from: datagram)
        guard
            let length = opening?.unprotect(
                UnsafeMutableRawBufferPointer(rebasing: opened[..<datagram.count]), isControl: true)
        else { return }
        let plain = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(opened)[..<length])
        if reports.receive(plain, ours: ssrc, now: loop.timeMs) { lastPacketMs = loop.timeMs }
    }

    private func sendControl(_ bytes: [UInt8]) {
        guard let control, let remote, remote.port < .max else { return }
        let target = SocketAddress(address: remote.address, port: remote.port + 1)
        var bytes = bytes
        guard keys != nil else {
            bytes.withUnsafeBytes { _ = control.send($0, to: target) }
            return
        }
        let length = bytes.count
        bytes += [UInt8](repeating: 0, count: SecureRTP.overhead + 4)
        bytes.withUnsafeMutableBytes { buffer in
            guard let encrypted = encrypting?.protect(buffer, length: length, isControl: true) else { return }
            _ = control.send(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<encrypted]), to: target)
        }
    }

    private func deliver() {
        guard !ordered.isEmpty else { return }
        swap(&ordered, &spareOrdered)
        let now = loop.timeMs
        for item in spareOrdered {
            switch item {
            case .lost: assembler.lost(law: law, into: &ready)
            case .packet(let payload): payload.withBytes { assembler.packet($0, law: law, now: now, into: &ready) }
            }
        }
        spareOrdered.removeAll(keepingCapacity: true)
        handOver()
    }

    /// A receiver of a frame may ask for our figures, or close us.
    private func handOver() {
        guard !ready.isEmpty else { return }
        swap(&ready, &spareReady)
        for frame in spareReady { onFrame?(frame) }
        spareReady.removeAll(keepingCapacity: true)
    }

    /// Sends 20 ms; called once a tick, nil for silence, so that the timestamp follows the clock.
    public func send(_ frame: EncodedFrame?) {
        defer { timestamp &+= UInt32(EncodedFrame.byteCount) }
        if digitPayloads.isEmpty, digitGap == 0, !digits.isEmpty,
            let payloads = TelephoneEvent.payloads(for: digits.removeFirst())
        {
            // Each digit is an event of its own by its timestamp (RFC 4733 §2.3.5).
            digitPayloads = payloads
            digitTimestamp = timestamp
            flushWaiting()
            needsMarker = true
        }
        if !digitPayloads.isEmpty {
            let payload = digitPayloads.removeFirst()
            if let eventType {
                payload.withUnsafeBytes {
                    transmit(payloadType: eventType, marker: needsMarker, timestamp: digitTimestamp, $0)
                }
            }
            needsMarker = digitPayloads.isEmpty
            if digitPayloads.isEmpty { digitGap = Self.digitGapTicks }
            return
        }
        digitGap = max(0, digitGap - 1)
        let spoken = G711.transcode(frame ?? EncodedFrame(law: law), to: law)
        if waiting == 0 { waitingTimestamp = timestamp }
        for index in 0..<EncodedFrame.byteCount { outgoing[waiting + index] = spoken.bytes[index] }
        waiting += EncodedFrame.byteCount
        while waiting >= packetBytes { sendWaiting(packetBytes) }
        onTransmit?(spoken)
    }

    private func sendWaiting(_ count: Int) {
        transmit(
            payloadType: SessionDescription.payloadType(law), marker: needsMarker, timestamp: waitingTimestamp,
            UnsafeRawBufferPointer(rebasing: outgoing[..<count]))
        needsMarker = false
        waiting -= count
        waitingTimestamp &+= UInt32(count)
        if waiting > 0 {
            outgoing.copyMemory(from: UnsafeRawBufferPointer(rebasing: outgoing[count..<count + waiting]))
        }
    }

    /// What waits for its packet to be full goes now: something else comes behind it.
    private func flushWaiting() { if waiting > 0 { sendWaiting(waiting) } }

    public var isSendingDigit: Bool { !digitPayloads.isEmpty || !digits.isEmpty || digitGap > 0 }

    /// Sends a DTMF digit over the next ticks, after those before it. False without telephone-event on the far end.
    @discardableResult
    public func send(digit: Character) -> Bool {
        guard eventType != nil, TelephoneEvent.digits.contains(digit), digits.count < Self.digitLimit else {
            return false
        }
        digits.append(digit)
        return true
    }

    private func transmit(payloadType: UInt8, marker: Bool, timestamp: UInt32, _ payload: UnsafeRawBufferPointer) {
        guard let socket, let remote else { return }
        RTPPacket.writeHeader(
            into: packet, payloadType: payloadType, marker: marker, sequence: sequence, timestamp: timestamp, ssrc: ssrc
        )
        let count = min(payload.count, JitterBuffer.Payload.capacity)
        for index in 0..<count { packet[RTPPacket.headerLength + index] = payload[index] }
        defer { sequence &+= 1 }
        var length = RTPPacket.headerLength + count
        if keys != nil {
            guard let encrypted = encrypting?.protect(packet, length: length) else { return }
            length = encrypted
        }
        octets &+= count
        if socket.send(UnsafeRawBufferPointer(rebasing: packet[..<length]), to: remote) { counted.sent += 1 }
    }

    public func close() {
        if counted.sent > 0 { sendControl(RTCP.goodbye(ssrc: ssrc)) }
        control?.close()
        control = nil
        socket?.close()
        socket = nil
        onFrame = nil
        onDigit = nil
        onTransmit = nil
    }
}
