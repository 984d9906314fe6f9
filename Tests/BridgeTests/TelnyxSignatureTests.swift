import Foundation
import Testing

@testable import Bridge

/// Vectors by PyNaCl, found right by `telnyx.lib.webhook_verification` of the vendor's package (4.189.0).
@Suite struct TelnyxSignatureTests {
    private let key = "CNbsyClOSrDQQZcmW8njiFeF5aCX/Zvf8HP+EXoVyKs="
    private let body = Array(#"{"data":{"event_type":"call.initiated"}}"#.utf8)
    private let timestamp = "1764043200"
    private let code = "fShnzi6RGKkjnLaUl+fNThn1f0sHq7iPr3WMXpfwKjzL4i7wE8rFb0vAAjSZnsVcmnrAqsici6rrRVpdp4JtDA=="
    private let now = Date(timeIntervalSince1970: 1_764_043_200)

    private func verdict(
        _ code: String, _ timestamp: String, _ body: [UInt8], key: String? = nil, at now: Date
    ) throws -> TelnyxSignature.Verdict {
        let signature = try #require(TelnyxSignature(publicKey: key ?? self.key))
        return signature.verdict(on: code, timestamp: timestamp, body: body, at: now)
    }

    @Test(arguments: [0, 299, 300, -300]) func aSignatureOfNowIsValid(secondsLater: Double) throws {
        #expect(try verdict(code, timestamp, body, at: now.addingTimeInterval(secondsLater)) == .valid)
    }

    @Test(arguments: [301, -301, 1e15]) func oneOfAnotherTimeIsNot(secondsLater: Double) throws {
        #expect(try verdict(code, timestamp, body, at: now.addingTimeInterval(secondsLater)) == .untimely)
    }

    @Test func anotherBodyTimestampOrKeyIsWrong() throws {
        #expect(try verdict(code, timestamp, body + [0x20], at: now) == .wrong)
        #expect(try verdict(code, timestamp, [], at: now) == .wrong)
        #expect(try verdict(code, "1764043201", body, at: now) == .wrong)
        let other = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="  // RFC 8032 §7.1
        #expect(try verdict(code, timestamp, body, key: other, at: now) == .wrong)
    }

    @Test(arguments: ["", "bm8=", "no base64!", String(repeating: "A", count: 88)])
    func whatIsNoSignatureIsWrong(code: String) throws {
        #expect(try verdict(code, timestamp, body, at: now) == .wrong)
    }

    @Test(arguments: ["", "now", "1764043200.5", "99999999999999999999", "-1"])
    func whatIsNoTimestampIsWrong(timestamp: String) throws {
        #expect(try verdict(code, timestamp, body, at: now) == .wrong)
    }

    @Test(arguments: ["", "AAAA", "no base64!", "CNbsyClOSrDQQZcmW8njiFeF5aCX/Zvf8HP+EXoVyKtB"])
    func whatIsNoKeyIsNone(key: String) { #expect(TelnyxSignature(publicKey: key) == nil) }
}
