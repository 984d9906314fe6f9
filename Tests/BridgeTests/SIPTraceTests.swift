import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct SIPTraceTests {
    @Test func messagesAreKeptWithoutSecrets() {
        let clock = Locked(Date(timeIntervalSince1970: 1_000))
        let trace = SIPTrace(now: { clock.get() })
        func message(_ head: String, _ lines: [String]) {
            trace.take(
                "\(head) bytes to udp/[192.0.2.1]:5060 at 20:34:55.065843:\n   "
                    + String(repeating: "-", count: 72) + "\n"
            )
            for line in lines {
                trace.take("   " + line)
                trace.take("\n")
            }
            trace.take("   ------------------------------------------------------------------------\n")
            clock.set(clock.get() + 0.25)
        }
        message(
            "send 300",
            [
                "INVITE sip:1001@192.0.2.1 SIP/2.0", "Call-ID: outbound-ob-1234abcd-1", "CSeq: 1 INVITE",
                "Authorization: Digest username=\"kim\", nonce=\"n0nce\", response=\"deadbeef\", cnonce=\"cc\"", "",
                "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:c2VjcmV0",
            ])
        message("recv 100", ["SIP/2.0 486 Busy Here", "Call-ID: outbound-ob-1234abcd-1", "CSeq: 1 INVITE"])
        message("recv 100", ["OPTIONS sip:x SIP/2.0", "Call-ID: outbound-ob-1234abcd-9", "CSeq: 1 OPTIONS"])
        let kept = trace.messages(of: [], holding: "ob-1234abcd")
        #expect(
            kept.map(\.summary) == ["INVITE sip:1001@192.0.2.1", "486 Busy Here"]
                && kept.map(\.isSent) == [true, false])
        let text = kept[0].text
        #expect(
            !text.contains("n0nce") && !text.contains("deadbeef") && !text.contains("c2VjcmV0")
                && text.contains("username=\"kim\""))
        let ladder = SIPTrace.ladder(kept)
        #expect(
            ladder.contains("udp/192.0.2.1:5060") && ladder.contains("- INVITE sip:1001@192.0.2.")
                && ladder.contains("< 486 Busy Here")
                && ladder.contains("0.250"))
        // A flood pushes out the oldest, and no more than is bounded is kept.
        for index in 0..<(SIPTrace.dialogLimit + 10) {
            message(
                "recv 9",
                ["SIP/2.0 200 OK", "Call-ID: flood-\(index)", "CSeq: 1 INVITE", String(repeating: "x", count: 100)])
        }
        #expect(
            trace.messages(of: [], holding: "ob-1234abcd").isEmpty
                && trace.messages(of: [], holding: "flood-").count == SIPTrace.dialogLimit)
        let long = (0..<4).map { _ in String(repeating: "y", count: 900) }
        for index in 0..<3_000 {
            for _ in 0..<4 { message("recv 9", ["SIP/2.0 200 OK", "Call-ID: long-\(index)"] + long) }
        }
        #expect(trace.size.bytes <= SIPTrace.totalLimit && trace.size.bytes > SIPTrace.totalLimit * 9 / 10)
        // Short messages that take the place of long ones need more memory beside their text, which counts too.
        let longMessages = trace.size.messages
        for index in 0..<400 {
            for _ in 0..<SIPTrace.messageLimit { message("recv 9", ["SIP/2.0 200 OK", "Call-ID: short-\(index)"]) }
        }
        let size = trace.size
        let texts = trace.messages(of: [], holding: "-").reduce(0) { $0 + $1.text.utf8.count }
        #expect(size.messages > longMessages && size.bytes <= SIPTrace.totalLimit)
        #expect(size.bytes >= texts + size.messages * SIPTrace.messageOverhead)
        #expect(trace.messages(of: [], holding: "ob-other").isEmpty && SIPTrace.ladder([]) == "")
    }
}
