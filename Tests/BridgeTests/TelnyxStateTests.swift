import Foundation
import Testing

@testable import Bridge

@Suite struct TelnyxStateTests {
    @Test(
        arguments: [.placed(callID: "out-1"), .arrived, .transfer(of: "v3:ab-c_9", language: "ko"), .farewell]
            as [TelnyxState])
    func aStateComesBack(state: TelnyxState) { #expect(TelnyxState(state.text) == state) }

    @Test(arguments: [
        "", "call", "call a b", "transfer v3:abc", "transfer ../x en", "other state", "farewell 1", "\u{0}",
    ])
    func anothersStateIsNone(words: String) {
        #expect(TelnyxState(Data(words.utf8).base64EncodedString()) == nil)
    }

    @Test func whatIsNoBase64OrTooLongIsNone() {
        #expect(TelnyxState("not base64!") == nil)
        #expect(TelnyxState(TelnyxState.placed(callID: String(repeating: "x", count: 2_000)).text) == nil)
    }
}
