import Foundation
import Testing

@testable import Bridge

/// What phones send to prove who they are.
@Suite struct DigestTests {
    private let secret = DigestAuthenticator.Secret(user: "kim", realm: "trunkline", password: "correct horse battery")
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func header(
        _ authenticator: DigestAuthenticator, user: String = "kim", password: String = "correct horse battery",
        algorithm: DigestAuthenticator.Algorithm = .md5, count: Int = 1, nonce: String? = nil
    ) throws -> (header: String, nonce: String) {
        let challenge = try #require(
            authenticator.challenges(at: now).first { $0.contains("algorithm=\(algorithm.rawValue)") })
        let fields = try #require(DigestAuthenticator.parse(challenge))
        let nonce = try nonce ?? #require(fields["nonce"])
        let first = algorithm.hash("\(user):trunkline:\(password)")
        let second = algorithm.hash("REGISTER:sip:host")
        let text = String(count, radix: 16)
        let nc = String(repeating: "0", count: 8 - text.count) + text
        let response = algorithm.hash("\(first):\(nonce):\(nc):abc:auth:\(second)")
        return (
            "Digest username=\"\(user)\", realm=\"trunkline\", nonce=\"\(nonce)\", uri=\"sip:host\", response=\"\(response)\", "
                + "algorithm=\(algorithm.rawValue), qop=auth, nc=\(nc), cnonce=\"abc\"", nonce
        )
    }

    private func verify(_ authenticator: DigestAuthenticator, _ header: String?, at date: Date? = nil)
        -> DigestAuthenticator.Verdict
    {
        authenticator.verify(header, method: "REGISTER", now: date ?? now) { $0 == "kim" ? secret : nil }
    }

    @Test func rfc7616HashesAreThose() {
        // RFC 7616 §3.9.1.
        let md5 = DigestAuthenticator.Algorithm.md5, sha = DigestAuthenticator.Algorithm.sha256
        let realm = "http-auth@example.org", nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
        let client = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        for (algorithm, expected) in [
            (md5, "8ca523f5e9506fed4657c9700eebdbec"),
            (sha, "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let first = algorithm.hash("Mufasa:\(realm):Circle of Life"), second = algorithm.hash("GET:/dir/index.html")
            #expect(algorithm.hash("\(first):\(nonce):00000001:\(client):auth:\(second)") == expected)
        }
    }

    @Test(arguments: DigestAuthenticator.Algorithm.allCases) func whoKnowsThePasswordIsLetIn(
        _ algorithm: DigestAuthenticator.Algorithm
    ) throws {
        let authenticator = DigestAuthenticator(realm: "trunkline")
        let (good, nonce) = try header(authenticator, algorithm: algorithm)
        #expect(verify(authenticator, good) == .accepted(user: "kim"))
        // A count of a nonce is taken once, in rising order.
        guard case .challenge(let again) = verify(authenticator, good) else { return #expect(Bool(false)) }
        #expect(again.allSatisfy { $0.contains("stale=true") })
        #expect(
            verify(authenticator, try header(authenticator, algorithm: algorithm, count: 2, nonce: nonce).header)
                == .accepted(user: "kim"))
        #expect(
            verify(
                authenticator, try header(authenticator, algorithm: algorithm, count: 3, nonce: nonce).header,
                at: now + 301)
                != .accepted(user: "kim"))
    }

    @Test func whoDoesNotIsNot() throws {
        let authenticator = DigestAuthenticator(realm: "trunkline")
        for wrong in [
            try header(authenticator, password: "another").header, try header(authenticator, user: "lee").header,
            try header(authenticator).header.replacing("realm=\"trunkline\"", with: "realm=\"elsewhere\""),
            try header(authenticator).header.replacing("qop=auth,", with: "qop=auth-int,"),
            try header(authenticator).header.replacing("algorithm=MD5", with: "algorithm=MD5-sess"),
        ] {
            guard case .challenge(let challenges) = verify(authenticator, wrong) else {
                return #expect(Bool(false), "\(wrong)")
            }
            #expect(challenges.count == 2 && challenges.allSatisfy { !$0.contains("stale") })
        }
        // Who knows the password learns that his nonce is none of ours.
        guard
            case .challenge(let stale) = verify(
                authenticator, try header(authenticator, nonce: "6b49d200.1.2-3").header)
        else {
            return #expect(Bool(false))
        }
        #expect(stale.allSatisfy { $0.contains("stale=true") })
        let foreign = DigestAuthenticator(realm: "trunkline")
        guard case .challenge = verify(authenticator, try header(foreign).header) else {
            return #expect(Bool(false), "a nonce of somebody else's")
        }
    }

    @Test(arguments: [
        "Digest username=\"kim", "Digest a=1, a=2", "Digest username", "Digest username=\"\\", "Digest =,",
        "Digest username=\"kim\", realm=\"t\", qop=auth, response=\"1\"",
        "Digest username=\"kim\", realm=\"trunkline\", nonce=\"1\", uri=\"x\", response=\"1\", qop=auth, nc=1, cnonce=\"a\"",
    ]) func whatCannotBeReadIsMalformed(_ header: String) {
        #expect(verify(DigestAuthenticator(realm: "trunkline"), header) == .malformed)
    }
}

@Suite struct SourceGuardTests {
    /// A clock that a test turns.
    final class Clock: Sendable {
        private let value: Locked<UInt64> = Locked(1_000_000)
        var now: UInt64 { value.get() }
        func advance(_ ms: UInt64) { value.set(value.get() + ms) }
    }

    @Test func whoSpeculationesIsShutOutAndLetInAgain() {
        let clock = Clock()
        let guardian = SourceGuard(exempt: ["192.0.2.9"], now: { clock.now })
        let blocked = Locked<[[UInt32]]>([])
        guardian.onBlock = { addresses, _ in blocked.set(blocked.get() + [addresses]) }
        for _ in 0..<9 { guardian.failed("192.0.2.1") }
        #expect(guardian.admits("192.0.2.1", agent: nil))
        guardian.failed("192.0.2.1")
        #expect(
            !guardian.admits("192.0.2.1", agent: nil) && guardian.admits("192.0.2.2", agent: nil)
                && guardian.blockedCount == 1)
        #expect(blocked.get() == [[0xC000_0201]])
        clock.advance(SourceGuard.blockMs + 1)
        guardian.expire()
        #expect(guardian.admits("192.0.2.1", agent: nil) && blocked.get().last == [])
        // Slow mistakes are a person's.
        for _ in 0..<30 {
            guardian.failed("192.0.2.3")
            clock.advance(10_000)
        }
        #expect(guardian.admits("192.0.2.3", agent: nil))
        for _ in 0..<100 { guardian.failed("192.0.2.9") }
        #expect(guardian.admits("192.0.2.9", agent: "friendly-scanner"), "trunks of ours are never blocked")
    }

    @Test func scannersAndFloodsAreShutOutAtOnce() {
        let clock = Clock()
        let guardian = SourceGuard(exempt: [], now: { clock.now })
        #expect(
            !guardian.admits("192.0.2.1", agent: "friendly-scanner") && !guardian.admits("192.0.2.1", agent: "Linphone")
        )
        for _ in 0..<100 { #expect(guardian.admits("192.0.2.2", agent: nil)) }
        #expect(!guardian.admits("192.0.2.2", agent: nil))
        guardian.trust("192.0.2.3")
        for _ in 0..<300 { #expect(guardian.admits("192.0.2.3", agent: nil)) }
        #expect(guardian.admits("127.0.0.1", agent: "sipvicious"))
    }
}

/// A value behind a lock, for tests.
final class Locked<Value: Sendable>: @unchecked Sendable {
    // Safe: touched under the lock alone.
    private var value: Value
    private let lock = NSLock()
    init(_ value: Value) { self.value = value }
    func get() -> Value { lock.withLock { value } }
    func set(_ new: Value) { lock.withLock { value = new } }
}

@Suite struct ReferralTests {
    @Test func anAddressIsKeptWithoutItsHeaders() {
        let referral = Referral(
            uri: "sip:1002@pbx.example?Replaces=a%40b%3Bto-tag%3D7%3Bfrom-tag%3D3&Subject=hello", reference: 5)
        #expect(
            referral.target == "sip:1002@pbx.example" && referral.replaces == "a@b;to-tag=7;from-tag=3"
                && referral.reference == 5)
        #expect(Referral(uri: "sip:1002@pbx.example").replaces == nil)
    }

    @Test(arguments: [
        "sip:x@y?Replaces=", "sip:x@y?Replaces=%", "sip:x@y?", "?Replaces", "",
        "sip:x@y?Replaces=" + String(repeating: "a", count: 401),
    ])
    func whatNamesNoDialogIsNone(_ uri: String) { #expect(Referral(uri: uri).replaces == nil) }
}
