import Bridge
import Calls
import Foundation
import Net
import Realtime
import Store
import Testing

@testable import API

@Suite struct AuthenticatorTests {
    private func request(_ headers: [String: String]) -> HTTPRequest {
        HTTPRequest(method: "GET", path: "/", headers: headers)
    }

    @Test func keysAndSessions() throws {
        let authenticator = Authenticator()
        authenticator.take([
            .init(
                hash: Authenticator.hash("secret-key"), name: "me", role: "operator", createdAt: Date(),
                createdBy: "test")
        ])
        #expect(authenticator.principal(of: request(["authorization": "Bearer secret-key"]))?.role == .operator)
        #expect(authenticator.principal(of: request(["authorization": "Bearer other"])) == nil)
        #expect(authenticator.principal(of: request([:])) == nil)
        let session = try #require(authenticator.logIn(key: "secret-key"))
        let cookie = request(["cookie": "a=b; \(Authenticator.cookie)=\(session.token)"])
        #expect(authenticator.principal(of: cookie)?.isSession == true)
        _ = authenticator.logOut(cookie)
        #expect(authenticator.principal(of: cookie) == nil && authenticator.logIn(key: "wrong") == nil)
    }
    @Test func aCookieNeedsOurOwnOrigin() {
        #expect(Authenticator.isSameOrigin(request(["sec-fetch-site": "same-origin"])))
        #expect(!Authenticator.isSameOrigin(request(["sec-fetch-site": "cross-site"])))
        #expect(Authenticator.isSameOrigin(request(["origin": "http://h:1", "host": "h:1"])))
        #expect(
            !Authenticator.isSameOrigin(request(["origin": "http://evil", "host": "h:1"]))
                && !Authenticator.isSameOrigin(request([:])))
    }
    @Test func theRateIsLimited() {
        let authenticator = Authenticator(rate: (1, 3), now: { Date(timeIntervalSince1970: 0) })
        #expect((0..<4).map { _ in authenticator.secondsToWait(for: "x") } == [nil, nil, nil, 1])
        #expect(authenticator.secondsToWait(for: "y") == nil)
    }
}
