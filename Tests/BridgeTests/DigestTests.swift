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
            "Digest username=\"\(user)\", realm=\"trunkline\", nonce=\"\(nonce)\", uri=\"sip:host\", "
                + "response=\"\(response)\", algorithm=\(algorithm.rawValue), qop=auth, nc=\(nc), cnonce=\"abc\"", nonce
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

    @Test(arguments: DigestAuthenticator.Algorithm.allCases) func theRightPasswordIsAccepted(
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

    @Test func wrongCredentialsAreRejected() throws {
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
        // A client with the right password and a foreign nonce is told that the nonce is stale.
        guard
            case .challenge(let stale) = verify(
                authenticator, try header(authenticator, nonce: "6b49d200.1.2-3").header)
        else {
            return #expect(Bool(false))
        }
        #expect(stale.allSatisfy { $0.contains("stale=true") })
        let foreign = DigestAuthenticator(realm: "trunkline")
        guard case .challenge = verify(authenticator, try header(foreign).header) else {
            return #expect(Bool(false), "a nonce of another server")
        }
    }

    @Test(arguments: [
        "Digest username=\"kim", "Digest a=1, a=2", "Digest username", "Digest username=\"\\", "Digest =,",
        "Digest username=\"kim\", realm=\"t\", qop=auth, response=\"1\"",
        "Digest username=\"kim\", realm=\"trunkline\", nonce=\"1\", uri=\"x\", response=\"1\", qop=auth, nc=1, "
            + "cnonce=\"a\"",
    ]) func malformedHeadersAreReported(_ header: String) {
        #expect(verify(DigestAuthenticator(realm: "trunkline"), header) == .malformed)
    }
}
