import Net
import Testing

@testable import Bridge

/// Every order in which a signalled address, one behind NAT and a stranger may speak.
@Suite struct SourceLockTests {
    private let signalled = SocketAddress(address: 0x0100_007F, port: 4_000)
    private let mapped = SocketAddress(address: 0x0200_007F, port: 5_000)
    private let stranger = SocketAddress(address: 0x0300_007F, port: 6_000)

    /// A packet every 20 ms from `start` on, `count` of them: which were heard.
    private func talk(
        _ lock: inout SourceLock, _ source: SocketAddress, from start: UInt64, count: Int, ssrc: UInt32 = 1,
        sequence: UInt16 = 1
    ) -> [Bool] {
        (0..<count).map {
            lock.admit(source, ssrc: ssrc, sequence: sequence &+ UInt16($0), now: start + 20 * UInt64($0))
        }
    }

    @Test func onlyTheSignalledAddressIsHeardAtFirst() {
        var lock = SourceLock(announced: signalled, now: 0)
        let first = lock.admit(signalled, ssrc: 1, sequence: 1, now: 0)
        let others = talk(&lock, stranger, from: 20, count: 500, ssrc: 2)
        #expect(first && !others.contains(true) && lock.target == signalled && lock.rejected == 500)
        // However long it is silent.
        let late = talk(&lock, stranger, from: 3_600_000, count: 100, ssrc: 2)
        #expect(!late.contains(true) && lock.target == signalled)
    }
    @Test func aStrangerWhoIsFirstGetsNothing() {
        var lock = SourceLock(announced: signalled, now: 1_000)
        let flood = (0..<400).map { lock.admit(stranger, ssrc: 9, sequence: UInt16($0), now: 1_000 + UInt64($0)) }
        #expect(!flood.contains(true) && lock.target == signalled && lock.heard == nil)
        let own = lock.admit(signalled, ssrc: 1, sequence: 1, now: 1_400)
        let later = talk(&lock, stranger, from: 1_401, count: 1_000, ssrc: 9, sequence: 400)
        #expect(own && !later.contains(true) && lock.target == signalled && lock.heard == signalled)
    }
    @Test func oneBehindNATIsTakenAfterASilence() {
        var lock = SourceLock(announced: signalled, now: 0)
        let heard = talk(&lock, mapped, from: 0, count: 30)
        #expect(heard.firstIndex(of: true) == 25, "at 500 ms")
        #expect(heard[25...].allSatisfy { $0 } && lock.target == mapped)
    }
    @Test func oneBehindNATMustProveItself() {
        var lock = SourceLock(announced: signalled, now: 0)
        #expect(talk(&lock, mapped, from: 2_000, count: 5) == [false, false, false, true, true])
        var changing = SourceLock(announced: signalled, now: 0)
        let streams = (0..<50).map { changing.admit(mapped, ssrc: UInt32($0), sequence: 1, now: 2_000 + UInt64($0)) }
        let repeats = (0..<50).map { _ in changing.admit(mapped, ssrc: 7, sequence: 7, now: 3_000) }
        let jumps = (0..<50).map { changing.admit(mapped, ssrc: 7, sequence: UInt16($0) &* 1_000, now: 4_000) }
        #expect(!(streams + repeats + jumps).contains(true) && changing.target == signalled)
    }
    @Test func theSignalledAddressReplacesALearnedSource() {
        var lock = SourceLock(announced: signalled, now: 0)
        _ = talk(&lock, stranger, from: 1_000, count: 10)
        #expect(lock.target == stranger)
        let own = lock.admit(signalled, ssrc: 2, sequence: 1, now: 1_300)
        let later = talk(&lock, stranger, from: 1_301, count: 300, sequence: 11)
        #expect(own && lock.target == signalled && !later.contains(true))
    }
    @Test func aStrangerBesideOneBehindNATIsNotHeard() {
        var lock = SourceLock(announced: signalled, now: 0)
        _ = talk(&lock, mapped, from: 1_000, count: 10)
        var heard: [Bool] = []
        var own: [Bool] = []
        for index in 0..<500 {
            let now = 1_200 + 20 * UInt64(index)
            own.append(lock.admit(mapped, ssrc: 1, sequence: UInt16(11 + index), now: now))
            heard.append(lock.admit(stranger, ssrc: 5, sequence: UInt16(index), now: now + 1))
        }
        #expect(!heard.contains(true) && !own.contains(false) && lock.target == mapped)
    }
    @Test func anotherPortOfTheNATIsTakenWhenTheFirstIsSilent() {
        var lock = SourceLock(announced: signalled, now: 0)
        _ = talk(&lock, mapped, from: 1_000, count: 10)  // the last at 1 180
        let moved = SocketAddress(address: mapped.address, port: 5_002)
        let heard = talk(&lock, moved, from: 1_200, count: 120, sequence: 11)
        #expect(heard.firstIndex(of: true) == 99, "at 3 180")
        #expect(lock.target == moved)
    }
    @Test func forgedAddressesEvictNoTrustedSource() {
        var lock = SourceLock(announced: signalled, now: 0)
        var heard: [Bool] = []
        for index in 0..<40 {
            let now = UInt64(index) * 20
            heard.append(lock.admit(mapped, ssrc: 1, sequence: UInt16(index), now: now))
            for forged in 0..<50 {
                let source = SocketAddress(address: UInt32(0x0A00_0000 + index * 50 + forged), port: 1_024)
                let admitted = lock.admit(source, ssrc: 3, sequence: 1, now: now)
                #expect(!admitted)
            }
        }
        #expect(heard.last == true && lock.target == mapped)
    }
    @Test func twoBehindNATAtOnceDoNotKeepEachOtherOut() {
        var lock = SourceLock(announced: signalled, now: 0)
        var first: [Bool] = []
        var second: [Bool] = []
        for index in 0..<40 {
            first.append(lock.admit(mapped, ssrc: 1, sequence: UInt16(index), now: UInt64(index) * 20))
            second.append(lock.admit(stranger, ssrc: 2, sequence: UInt16(index), now: UInt64(index) * 20 + 10))
        }
        #expect(first.contains(true) != second.contains(true), "one, and not both")
    }
    @Test func aReinviteMovesTheMedia() {
        var lock = SourceLock(announced: signalled, now: 0)
        _ = lock.admit(signalled, ssrc: 1, sequence: 1, now: 0)
        lock.move(to: mapped, now: 1_000)
        #expect(lock.target == mapped && lock.heard == nil)
        // Who was heard before still sends: what is on its way must not take it back.
        let former = talk(&lock, signalled, from: 1_020, count: 40, sequence: 2)
        let own = lock.admit(mapped, ssrc: 2, sequence: 1, now: 2_000)
        #expect(!former.contains(true) && own && lock.target == mapped)
        // It may stay where it was, behind a NAT that the new address does not show.
        var stays = SourceLock(announced: signalled, now: 0)
        _ = stays.admit(signalled, ssrc: 1, sequence: 1, now: 0)
        stays.move(to: mapped, now: 1_000)
        let heard = talk(&stays, signalled, from: 1_020, count: 60, sequence: 2)
        #expect(heard.firstIndex(of: true) == SourceLock.formerProvingPackets - 1)
    }
    @Test func aReinviteToTheSameAddressChangesNothing() {
        var lock = SourceLock(announced: signalled, now: 0)
        _ = talk(&lock, mapped, from: 1_000, count: 10)
        lock.move(to: signalled, now: 1_500)
        let admitted = lock.admit(mapped, ssrc: 1, sequence: 11, now: 1_520)
        #expect(lock.target == mapped && admitted)
    }
    @Test func theAnswerAfterEarlyMediaGivesTheSignalledAddressItsTimeAgain() {
        var lock = SourceLock(announced: signalled, now: 0)
        lock.move(to: signalled, now: 20_000)
        let flood = talk(&lock, stranger, from: 20_001, count: 20)
        #expect(!flood.contains(true))
        let own = lock.admit(signalled, ssrc: 1, sequence: 1, now: 20_420)
        #expect(own)
    }
    @Test func aNewStreamOfTheSameSourceIsHeard() {
        var lock = SourceLock(announced: signalled, now: 0)
        let first = talk(&lock, signalled, from: 0, count: 3, ssrc: 1)
        let second = talk(&lock, signalled, from: 60, count: 3, ssrc: 2, sequence: 40_000)
        #expect(!(first + second).contains(false))
        var behind = SourceLock(announced: signalled, now: 0)
        _ = talk(&behind, mapped, from: 1_000, count: 10, ssrc: 1)
        let other = talk(&behind, mapped, from: 1_200, count: 3, ssrc: 2, sequence: 40_000)
        #expect(!other.contains(false))
    }
    @Test func onHoldNothingIsSentAndNoSourceIsLearned() {
        var lock = SourceLock(announced: signalled, now: 0)
        _ = lock.admit(signalled, ssrc: 1, sequence: 1, now: 0)
        lock.move(to: nil, now: 1_000)
        let own = talk(&lock, signalled, from: 1_020, count: 10, sequence: 2)
        let other = talk(&lock, stranger, from: 10_000, count: 100)
        #expect(lock.target == nil && !own.contains(false) && !other.contains(true))
        lock.move(to: signalled, now: 20_000)
        let later = talk(&lock, stranger, from: 30_000, count: 100)
        #expect(lock.target == signalled && !later.contains(true))
        // A call that begins on hold (third-party call control, RFC 3725).
        var begins = SourceLock(announced: nil, now: 0)
        let early = talk(&begins, stranger, from: 10_000, count: 100)
        #expect(!early.contains(true) && begins.target == nil)
    }
    @Test func controlPacketsMustComeFromTheHeardSource() {
        var lock = SourceLock(announced: signalled, now: 0)
        let port = SocketAddress(address: signalled.address, port: 4_001)
        #expect(lock.admitsControl(port) && !lock.admitsControl(stranger))
        _ = talk(&lock, mapped, from: 1_000, count: 10)
        #expect(
            lock.admitsControl(SocketAddress(address: mapped.address, port: 5_001)) && !lock.admitsControl(port)
                && !lock.admitsControl(stranger))
    }
}
