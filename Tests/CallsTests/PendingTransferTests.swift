import Testing

@testable import Calls

@Suite struct PendingTransferTests {
    private let transfer = CarrierTransfer(target: "+1", callerID: nil, ringSeconds: 30, language: "en")

    @Test func aTransferIsToldOnce() {
        let pending = PendingTransfers()
        pending.expect("a")
        #expect(pending.set(transfer, of: "a"))
        #expect(pending.take("a")?.target == "+1")
        #expect(pending.take("a") == nil)
    }

    @Test func aCallThatDoesNotAskIsNone() {
        let pending = PendingTransfers()
        pending.expect("a")
        #expect(!pending.set(transfer, of: "b") && pending.take("b") == nil)
        #expect(pending.take("a") == nil, "no transfer was wanted")
        #expect(!pending.set(transfer, of: "a"), "it has asked")
    }

    @Test func expectedTwiceIsExpectedOnce() {
        let pending = PendingTransfers()
        pending.expect("a")
        #expect(pending.set(transfer, of: "a"))
        pending.expect("a")
        #expect(pending.take("a") != nil)
    }

    @Test func theOldestGivesWay() {
        let pending = PendingTransfers()
        for number in 0...PendingTransfers.limit { pending.expect("\(number)") }
        #expect(!pending.set(transfer, of: "0") && pending.set(transfer, of: "1"))
    }

    @Test func markupHasTheNumberAndTheLanguage() {
        #expect(
            transfer.markup(next: "https://h/t").hasSuffix(
                #"<Response><Dial action="https://h/t?language=en" method="POST" timeout="30"><Number>+1</Number>"#
                    + "</Dial></Response>"
            ))
    }
}
