import Foundation
import Testing

@testable import Store

@Suite struct VaultTests {
    private let key = Vault.Key(bytes: Array(repeating: 7, count: 32))

    @Test func whatIsSealedOpensWhereItBelongs() throws {
        let vault = Vault(current: key)
        let sealed = try vault.seal("secret words", row: "calls/a")
        #expect(
            try vault.open(sealed, row: "calls/a") == "secret words" && sealed.range(of: Data("secret".utf8)) == nil)
        #expect(throws: StoreError.self) { try vault.open(sealed, row: "calls/b") }
        var changed = sealed
        changed[20] ^= 1
        #expect(throws: StoreError.self) { try vault.open(changed, row: "calls/a") }
        #expect(throws: StoreError.self) { try vault.open(sealed.prefix(4), row: "calls/a") }
        #expect(throws: StoreError.self) { try vault.open(sealed.prefix(12), row: "calls/a") }
    }

    @Test func aFormerKeyOpensAndOthersDoNot() throws {
        let other = Vault.Key(bytes: Array(repeating: 9, count: 32))
        let sealed = try Vault(current: key).seal("x", row: "r")
        #expect(try Vault(current: other, former: [key]).open(sealed, row: "r") == "x")
        let error = #expect(throws: StoreError.self) { try Vault(current: other).open(sealed, row: "r") }
        #expect(error?.message.contains("security.former_keys") == true)
        #expect(Vault(current: other, former: [key]).isOutdated(sealed) && !Vault(current: key).isOutdated(sealed))
    }

    @Test func withoutAKeyItIsStoredAsItIs() throws {
        let plain = try Vault().seal("{}", row: "r")
        #expect(plain == Data("{}".utf8))
        #expect(try Vault(current: key).open(plain, row: "r") == "{}")
        #expect(Vault(current: key).isOutdated(plain))
    }

    @Test(arguments: ["", "short", String(repeating: "g", count: 64), String(repeating: "a", count: 63), "AAAA"])
    func badKeysAreRefused(text: String) { #expect(throws: StoreError.self) { try Vault.Key(text) } }
}
