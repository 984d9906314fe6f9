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

    @Test func eachEncryptedPacketDecryptsOnce() throws {
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
