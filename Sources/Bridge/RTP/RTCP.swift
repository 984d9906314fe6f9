internal import Foundation

/// What a receiver knows of the packets that reach it (RFC 3550 §6.4.1, appendix A.3 and A.8).
struct Reception {
    /// Units of the RTP clock a millisecond: 8 kHz.
    private static let clock = 8.0

    private(set) var ssrc: UInt32 = 0
    private var base: UInt32 = 0
    private var highest: UInt32 = 0
    private var received = 0
    private var expectedBefore = 0
    private var receivedBefore = 0
    private var lastTransit: Double?
    /// Interarrival jitter, units of the RTP clock.
    private(set) var jitter = 0.0
    private var hasBegun = false

    mutating func received(ssrc: UInt32, sequence: UInt16, timestamp: UInt32, now: UInt64) {
        if !hasBegun || ssrc != self.ssrc {
            self = Reception()
            hasBegun = true
            self.ssrc = ssrc
            base = UInt32(sequence)
            highest = base
        } else {
            let ahead = Int16(bitPattern: sequence &- UInt16(truncatingIfNeeded: highest))
            if ahead > 0 { highest &+= UInt32(ahead) }
        }
        received += 1
        // The difference of two transit times does not depend on where either clock begins.
        let arrival = Double(now % 0xFFFF_FFFF) * Self.clock
        let transit = arrival - Double(timestamp)
        if let lastTransit {
            let difference = abs(transit - lastTransit)
            // A jump of the sender's clock, or its wrap, is no jitter.
            if difference < Self.clock * 2_000 { jitter += (difference - jitter) / 16 }
        }
        lastTransit = transit
    }

    private var expected: Int { hasBegun ? Int(highest &- base) + 1 : 0 }
    var jitterMs: Double { jitter / Self.clock }

    /// A report block, and the begin of the next interval.
    mutating func report(lastSenderReport: UInt32, delay: UInt32) -> [UInt8] {
        let expectedNow = expected - expectedBefore, receivedNow = received - receivedBefore
        expectedBefore = expected
        receivedBefore = received
        let lostNow = max(0, expectedNow - receivedNow)
        let fraction = expectedNow > 0 ? UInt8(clamping: lostNow * 256 / expectedNow) : 0
        let lost = UInt32(clamping: min(0x7F_FFFF, max(0, expected - received)))
        var bytes = RTCP.word(ssrc)
        bytes += [fraction, UInt8(lost >> 16 & 0xFF), UInt8(lost >> 8 & 0xFF), UInt8(lost & 0xFF)]
        return bytes + RTCP.word(highest) + RTCP.word(UInt32(clamping: Int(jitter))) + RTCP.word(lastSenderReport)
            + RTCP.word(delay)
    }

    /// There is anything to report on.
    var isEmpty: Bool { !hasBegun }
}

/// RTCP of one leg: sender and receiver reports every five seconds (RFC 3550 §6).
struct RTCP {
    /// Milliseconds between two reports; half as much more or less, so that many calls do not report at once (§6.2).
    static let intervalMs: UInt64 = 5_000
    /// Blocks of one report that are looked at.
    private static let blockLimit = 31

    /// What the far end says of our packets.
    struct Feedback: Equatable {
        /// Of those it should have got, 0–1.
        var lossFraction: Double
        var jitterMs: Double
        /// There and back; nil: it cannot be told yet.
        var roundTripMs: Double?
    }

    private(set) var feedback: Feedback?
    private var lastSenderReport: UInt32 = 0
    private var lastSenderReportAt: UInt64 = 0
    private var nextAt: UInt64?

    static func word(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }

    /// Middle 32 bits of an NTP time stamp made of the loop's clock: only differences of it mean anything.
    private static func ntp(_ now: UInt64) -> (seconds: UInt32, fraction: UInt32) {
        (
            UInt32(truncatingIfNeeded: now / 1_000 &+ 2_208_988_800),
            UInt32(truncatingIfNeeded: (now % 1_000) * 4_294_967)
        )
    }
    private static func middle(_ now: UInt64) -> UInt32 {
        let time = ntp(now)
        return time.seconds << 16 | time.fraction >> 16
    }

    /// It is time to send one.
    mutating func isDue(_ now: UInt64) -> Bool {
        guard let at = nextAt else {
            nextAt = now + UInt64.random(in: 500...Self.intervalMs)
            return false
        }
        guard now >= at else { return false }
        nextAt = now + UInt64.random(in: Self.intervalMs / 2...Self.intervalMs * 3 / 2)
        return true
    }

    /// SR with a report on what comes, and SDES with a name that says nothing of us (RFC 7022).
    func packet(ssrc: UInt32, timestamp: UInt32, packets: Int, octets: Int, reception: inout Reception, now: UInt64)
        -> [UInt8]
    {
        // A tick that is made up for is dated before a report that has come meanwhile.
        let delay =
            lastSenderReportAt == 0
            ? 0 : UInt32(truncatingIfNeeded: (now - min(now, lastSenderReportAt)) * 65_536 / 1_000)
        let block = reception.isEmpty ? [] : reception.report(lastSenderReport: lastSenderReport, delay: delay)
        let time = Self.ntp(now)
        var body = Self.word(ssrc) + Self.word(time.seconds) + Self.word(time.fraction) + Self.word(timestamp)
        body += Self.word(UInt32(truncatingIfNeeded: packets)) + Self.word(UInt32(truncatingIfNeeded: octets)) + block
        var bytes = Self.head(200, count: block.isEmpty ? 0 : 1, length: body.count) + body
        let name = Array(String(ssrc, radix: 16).utf8)
        var chunk = Self.word(ssrc) + [1, UInt8(name.count)] + name + [0]
        while chunk.count % 4 != 0 { chunk.append(0) }
        bytes += Self.head(202, count: 1, length: chunk.count) + chunk
        return bytes
    }

    /// BYE: we send no more (§6.6).
    static func goodbye(ssrc: UInt32) -> [UInt8] {
        head(201, count: 0, length: 4) + word(ssrc) + head(203, count: 1, length: 4) + word(ssrc)
    }

    private static func head(_ type: UInt8, count: UInt8, length: Int) -> [UInt8] {
        let words = length / 4
        return [0x80 | count, type, UInt8(words >> 8 & 0xFF), UInt8(words & 0xFF)]
    }

    /// Takes a compound packet; what cannot be read is left alone.
    @discardableResult
    mutating func receive(_ data: UnsafeRawBufferPointer, ours ssrc: UInt32, now: UInt64) -> Bool {
        func word(_ at: Int) -> UInt32 {
            UInt32(data[at]) << 24 | UInt32(data[at + 1]) << 16 | UInt32(data[at + 2]) << 8 | UInt32(data[at + 3])
        }
        var start = 0, isReport = false
        while start + 8 <= data.count {
            guard data[start] >> 6 == 2 else { return isReport }
            let end = start + (Int(data[start + 2]) << 8 | Int(data[start + 3])) * 4 + 4
            guard end <= data.count else { return isReport }
            let type = data[start + 1]
            var block = start + 8
            if type == 200, start + 28 <= end {
                lastSenderReport = word(start + 8) << 16 | word(start + 12) >> 16
                lastSenderReportAt = now
                block = start + 28
            }
            if type == 200 || type == 201 {
                isReport = true
                for _ in 0..<min(Int(data[start] & 0x1F), Self.blockLimit) {
                    guard block + 24 <= end else { break }
                    if word(block) == ssrc {
                        let sent = word(block + 16), held = word(block + 20)
                        // RFC 3550 §6.4.1: now − LSR − DLSR, in 1/65536 s.
                        let trip = Int32(bitPattern: Self.middle(now) &- sent &- held)
                        feedback = Feedback(
                            lossFraction: Double(data[block + 4]) / 256, jitterMs: Double(word(block + 12)) / 8,
                            roundTripMs: sent == 0 || trip < 0 ? feedback?.roundTripMs : Double(trip) * 1_000 / 65_536)
                    }
                    block += 24
                }
            }
            start = end
        }
        return isReport
    }
}

/// How good a call sounded, by the E-model (ITU-T G.107, G.113 appendix I for G.711 with concealment).
public enum SpeechQuality {
    /// - Parameters:
    ///   - loss: share of packets that were not there in time, 0–1.
    ///   - delayMs: mouth to ear, one way.
    /// - Returns: mean opinion score, 1–4.5.
    public static func score(loss: Double, delayMs: Double) -> Double {
        let percent = min(max(loss, 0), 1) * 100
        // Packet-loss robustness of G.711 with concealment.
        let impairment = 95 * percent / (percent + 25.1)
        let delay = 0.024 * delayMs + (delayMs > 177.3 ? 0.11 * (delayMs - 177.3) : 0)
        let rating = min(max(93.2 - delay - impairment, 0), 100)
        return min(4.5, max(1, 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating)))
    }
}
