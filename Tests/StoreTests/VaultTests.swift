import Foundation
import Testing

@testable import Store

@Suite struct VaultTests {
    private let key = Vault.Key(bytes: Array(repeating: 7, count: 32))

    @Test func ciphertextIsBoundToItsPlace() throws {
        let vault = Vault(current: key)
        let encrypted = try vault.encrypt("secret words", row: "calls/a")
        #expect(
            try vault.open(encrypted, row: "calls/a") == "secret words"
                && encrypted.range(of: Data("secret".utf8)) == nil)
        #expect(throws: StoreError.self) { try vault.open(encrypted, row: "calls/b") }
        var changed = encrypted
        changed[20] ^= 1
        #expect(throws: StoreError.self) { try vault.open(changed, row: "calls/a") }
        #expect(throws: StoreError.self) { try vault.open(encrypted.prefix(4), row: "calls/a") }
        #expect(throws: StoreError.self) { try vault.open(encrypted.prefix(12), row: "calls/a") }
    }

    @Test func aFormerKeyOpensAndOthersDoNot() throws {
        let other = Vault.Key(bytes: Array(repeating: 9, count: 32))
        let encrypted = try Vault(current: key).encrypt("x", row: "r")
        #expect(try Vault(current: other, former: [key]).open(encrypted, row: "r") == "x")
        let error = #expect(throws: StoreError.self) { try Vault(current: other).open(encrypted, row: "r") }
        #expect(error?.message.contains("security.former_keys") == true)
        #expect(
            Vault(current: other, former: [key]).isOutdated(encrypted) && !Vault(current: key).isOutdated(encrypted))
    }

    @Test func withoutAKeyItIsStoredAsItIs() throws {
        let plain = try Vault().encrypt("{}", row: "r")
        #expect(plain == Data("{}".utf8))
        #expect(try Vault(current: key).open(plain, row: "r") == "{}")
        #expect(Vault(current: key).isOutdated(plain))
    }

    @Test(arguments: ["", "short", String(repeating: "g", count: 64), String(repeating: "a", count: 63), "AAAA"])
    func badKeysAreRefused(text: String) { #expect(throws: StoreError.self) { try Vault.Key(text) } }
}
