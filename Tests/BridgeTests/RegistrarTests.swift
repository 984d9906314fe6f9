import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

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
                        "Digest username=\"kim\", realm=\"t\", nonce=\"\(nonce)\", uri=\"sip:t\", "
                        + "response=\"\(response)\", qop=auth, nc=00000001, cnonce=\"c\"",
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
