import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct RelayedClockTests {
    /// An hour of a relayed call between clocks that differ by 200 parts in a million, with 0 to 35 ms of jitter: the
    /// delay stays where it is, and a frame in four minutes or so is left out or missing.
    @Test(arguments: [-200, 200]) func anHourWithAClockThatDiffers(partsPerMillion: Int) {
        var playout = Playout(), reached: [String] = [], random: UInt32 = 1
        var sent = 0, missing = 0, deepest = 0, sum = 0
        let ticks = 3_600 * 50
        var arrivals: [Double] = []
        for tick in 0..<ticks {
            let now = Double(tick) * 20
            while true {
                let due = Double(sent) * 20 * (1 - Double(partsPerMillion) / 1e6)
                guard due <= now else { break }
                random = random &* 1_664_525 &+ 1_013_904_223
                arrivals.append(due + Double(random >> 24) * 35 / 255)
                sent += 1
            }
            for _ in arrivals.prefix(while: { $0 <= now }) {
                playout.append(EncodedFrame())
                arrivals.removeFirst()
            }
            if playout.next(reached: &reached) == nil { missing += 1 }
            playout.keepPace()
            deepest = max(deepest, playout.frames)
            sum += playout.frames
        }
        let drift = 3_600 * 50 * abs(partsPerMillion) / 1_000_000
        #expect(
            deepest <= 5 && Double(sum) / Double(ticks) < 3,
            "\(deepest) frames waited, \(Double(sum) / Double(ticks)) on average")
        #expect(
            partsPerMillion > 0 ? (drift - 5...drift + 5).contains(playout.skipped) : playout.skipped <= 10,
            "\(playout.skipped) left out")
        #expect(partsPerMillion < 0 ? (drift - 5...drift + 20).contains(missing) : missing <= 10, "\(missing) missing")
    }
}
