internal import CSrtp
internal import Foundation

/// A key of SRTP as SDP carries it (RFC 4568, SDES): AES-CM with 128 bits, HMAC-SHA1 with 80 or 32.
public struct SRTPKey: Sendable, Equatable {
    public enum Suite: String, Sendable, CaseIterable {
        case sha1Tag80 = "AES_CM_128_HMAC_SHA1_80"
        case sha1Tag32 = "AES_CM_128_HMAC_SHA1_32"
    }
    /// Bytes of key and salt.
    static let length = 30

    public var tag: Int
    public var suite: Suite
    var bytes: [UInt8]

    /// A key of our own.
    public static func random(tag: Int = 1, suite: Suite = .sha1Tag80) -> SRTPKey {
        var generator = SystemRandomNumberGenerator()
        return SRTPKey(
            tag: tag, suite: suite, bytes: (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    /// The value of `a=crypto`; nil: a suite or a form that we do not take (more keys than one, an MKI).
    init?(parsing value: some StringProtocol) {
        let words = value.split(separator: " ")
        guard words.count >= 3, let tag = Int(words[0]), (0...999_999_999).contains(tag),
            let suite = Suite(rawValue: String(words[1]))
        else {
            return nil
        }
        let parameters = words[2].split(separator: "|", omittingEmptySubsequences: false)
        guard words[2].hasPrefix("inline:"), parameters.count <= 2, !words[2].contains(";"), !words[2].contains(":1:"),
            let key = Data(base64Encoded: String(parameters[0].dropFirst(7))), key.count == Self.length
        else { return nil }
        self.init(tag: tag, suite: suite, bytes: [UInt8](key))
    }

    init(tag: Int, suite: Suite, bytes: [UInt8]) {
        self.tag = tag
        self.suite = suite
        self.bytes = bytes
    }

    /// Whether counters and replay window go on: they belong to the key, and its tag is only a number of a line of one
    /// SDP (RFC 3711 §3.2.3 and §9.1, RFC 4568 §6.1 and §7.1.4).
    static func isSame(_ one: SRTPKey?, _ other: SRTPKey?) -> Bool {
        one?.suite == other?.suite && one?.bytes == other?.bytes
    }

    var attribute: String { "a=crypto:\(tag) \(suite.rawValue) inline:\(Data(bytes).base64EncodedString())" }
}

/// SRTP of one leg, one direction (RFC 3711): libsrtp2 keeps counters, replay window and authentication. Confined to
/// the leg's loop.
final class SecureRTP {
    /// Bytes that a packet grows by at most.
    static let overhead = 16
    private static let isReady: Bool = srtp_init() == srtp_err_status_ok

    private var session: srtp_t?

    /// - Parameter isInbound: opens what comes, else encrypts what goes.
    init?(_ key: SRTPKey, isInbound: Bool) {
        guard Self.isReady, key.bytes.count == SRTPKey.length else { return nil }
        var policy = srtp_policy_t()
        switch key.suite {
        case .sha1Tag80: srtp_crypto_policy_set_rtp_default(&policy.rtp)
        case .sha1Tag32: srtp_crypto_policy_set_aes_cm_128_hmac_sha1_32(&policy.rtp)
        }
        // RTCP keeps the long tag with either (RFC 4568 §6.2).
        srtp_crypto_policy_set_rtp_default(&policy.rtcp)
        policy.ssrc.type = isInbound ? ssrc_any_inbound : ssrc_any_outbound
        policy.window_size = 128
        policy.allow_repeat_tx = 0
        var bytes = key.bytes
        var made: srtp_t?
        let status = bytes.withUnsafeMutableBufferPointer { buffer in
            policy.key = buffer.baseAddress
            return srtp_create(&made, &policy)
        }
        guard status == srtp_err_status_ok else { return nil }
        session = made
    }

    deinit { if let session { srtp_dealloc(session) } }

    /// Encrypts a packet in place; the buffer has `overhead` bytes of room behind it. nil: it must not be sent.
    func protect(_ packet: UnsafeMutableRawBufferPointer, length: Int, isControl: Bool = false) -> Int? {
        guard let session, length + Self.overhead <= packet.count else { return nil }
        var size = Int32(clamping: length)
        let status =
            isControl
            ? srtp_protect_rtcp(session, packet.baseAddress, &size) : srtp_protect(session, packet.baseAddress, &size)
        return status == srtp_err_status_ok ? Int(size) : nil
    }

    /// Opens a packet in place. nil: forged, repeated or damaged.
    func unprotect(_ packet: UnsafeMutableRawBufferPointer, isControl: Bool = false) -> Int? {
        guard let session else { return nil }
        var size = Int32(clamping: packet.count)
        let status =
            isControl
            ? srtp_unprotect_rtcp(session, packet.baseAddress, &size)
            : srtp_unprotect(session, packet.baseAddress, &size)
        return status == srtp_err_status_ok ? Int(size) : nil
    }
}
