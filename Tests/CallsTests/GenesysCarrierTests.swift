import Bridge
import Foundation
import Testing

@testable import Calls

@Suite struct GenesysCarrierTests {
    private static let key = "an-api-key"
    private static let now = Date(timeIntervalSince1970: 1_700_000_000)
    private let signature: GenesysSignature
    private let genesys: GenesysCarrier

    init() throws {
        signature = try #require(GenesysSignature(apiKey: Self.key, clientSecret: "c2VjcmV0IG9mIGEgY2xpZW50"))
        genesys = GenesysCarrier(signature: signature, publicURL: "https://Voice.example.com/base") { Self.now }
    }

    private func headers(_ target: String, nonce: String = "0123456789abcdef012345") -> [String: String] {
        let ids = [
            "audiohook-organization-id": "o", "audiohook-session-id": "s", "audiohook-correlation-id": "c",
            "x-api-key": Self.key,
        ]
        let added = signature.headers(
            target: target, authority: "voice.example.com", headers: ids, nonce: nonce, at: Self.now)
        return ids.merging(added.map { ($0.name, $0.value) }) { $1 }
    }

    @Test func anUpgradeIsSignedWithItsAddress() {
        let right = headers("/base/media/genesys")
        #expect(genesys.isSigned(path: "/media/genesys", query: [], headers: right))
        #expect(!genesys.isSigned(path: "/media/genesys", query: [("a", "1")], headers: right))
        #expect(!genesys.isSigned(path: "/media/twilio", query: [], headers: right))
        #expect(!genesys.isSigned(path: "/media/genesys", query: [], headers: ["x-api-key": Self.key]))
        #expect(
            genesys.isSigned(
                path: "/media/genesys", query: [("a", "1 2")], headers: headers("/base/media/genesys?a=1%202")))
    }

    @Test func aSignatureTakesOneStreamIn() {
        let given = headers("/base/media/genesys")
        #expect(genesys.isSigned(path: "/media/genesys", query: [], headers: given), "being asked costs nothing")
        #expect(genesys.takes(path: "/media/genesys", query: [], headers: given))
        #expect(!genesys.takes(path: "/media/genesys", query: [], headers: given), "replayed")
        let next = headers("/base/media/genesys", nonce: "another-nonce-of-22-chars")
        #expect(genesys.takes(path: "/media/genesys", query: [], headers: next))
        #expect(!genesys.takes(path: "/media/genesys", query: [], headers: [:]))
    }

    @Test func itPlacesNoCalls() {
        #expect(!GenesysCarrier.placesCalls && genesys.api == nil && !GenesysSettings().canDial)
        #expect(GenesysCarrier.owns(callID: "090eaa2f-72fa-480a-83e0-8667ff89c0ec"))
        #expect(!GenesysCarrier.owns(callID: "090EAA2F-72FA-480A-83E0-8667FF89C0EC"))
    }
}
