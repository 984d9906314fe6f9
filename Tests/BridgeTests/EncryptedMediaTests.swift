import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

/// SRTP against attackers without a key, with a wrong key, or with recorded packets (RFC 3711 §3.3).
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
