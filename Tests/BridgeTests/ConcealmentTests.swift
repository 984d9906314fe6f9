import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct ConcealmentTests {
    @Test func concealmentFadesToSilence() {
        var concealment = Concealment()
        var loud = EncodedFrame()
        for index in loud.bytes.indices { loud.bytes[index] = MuLaw.encode(10_000) }
        concealment.heard(loud)
        let levels = (0..<4).map { _ in abs(Int(MuLaw.decode(concealment.conceal(law: .muLaw).bytes[0]))) }
        #expect(levels[0] > levels[1] && levels[1] > levels[2] && levels[3] == 0)
    }
}
