import Foundation
import Net
import Pipeline
import Testing

@testable import Bridge

@Suite struct FrameAssemblerTests {
    private func packet(_ count: Int, _ byte: UInt8 = 0x90) -> [UInt8] { .init(repeating: byte, count: count) }

    @Test(arguments: [(80, 12, 6), (160, 6, 6), (240, 4, 6), (320, 3, 6), (480, 2, 6)])
    func packetsOfAnyLengthMakeFramesOf20Ms(bytes: Int, packets: Int, frames: Int) {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        for index in 0..<packets {
            packet(bytes).withUnsafeBufferPointer {
                assembler.packet($0, law: .muLaw, now: UInt64(1_000 + index), into: &output)
            }
        }
        #expect(output.count == frames && output.allSatisfy { $0.bytes[0] == 0x90 && !$0.isConcealed })
    }

    /// Concealment lasts as long as what was lost, and fades.
    @Test(arguments: [(80, 4, 2), (160, 4, 4), (480, 2, 6)]) func concealmentLastsAsLongAsTheLostPacket(
        bytes: Int, lost: Int, frames: Int
    ) {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        for _ in 0..<2 {
            packet(bytes).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: 1_000, into: &output) }
        }
        output.removeAll()
        for _ in 0..<lost { assembler.lost(law: .muLaw, into: &output) }
        #expect(output.count == frames && output.allSatisfy(\.isConcealed) && assembler.concealed == frames)
        let loudness = output.map { abs(Int(MuLaw.decode($0.bytes[0]))) }
        #expect(loudness == loudness.sorted(by: >) && (frames < 4 || loudness[3] == 0))
    }

    /// A phone that stops sending during silence (DTX): the receiver gets silent frames at the pace of time.
    @Test(arguments: [false, true]) func discontinuousTransmissionBecomesSilence(isAnnounced: Bool) {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        assembler.tick(now: 500, law: .muLaw, into: &output)
        #expect(output.isEmpty, "nothing has begun")
        packet(160).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: 1_000, into: &output) }
        if isAnnounced { assembler.comfortNoise(level: 127, now: 1_020) }
        let begin: UInt64 = isAnnounced ? 1_020 : 1_000,
            wait = isAnnounced ? FrameAssembler.announcedGapMs : FrameAssembler.gapMs
        output.removeAll()
        for now in stride(from: begin + 20, to: begin + wait, by: 20) {
            assembler.tick(now: now, law: .muLaw, into: &output)
        }
        #expect(output.isEmpty, "it may be jitter")
        for now in stride(from: begin + wait, through: begin + 3_000, by: 20) {
            assembler.tick(now: now, law: .muLaw, into: &output)
        }
        #expect(output.count == 150 && output.allSatisfy { !$0.isConcealed && MuLaw.decode($0.bytes[7]) == 0 })
        packet(160).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: begin + 3_010, into: &output) }
        assembler.tick(now: begin + 3_030, law: .muLaw, into: &output)
        #expect(output.count == 151)
    }

    @Test func aStopOfOursIsNoLongSilence() {
        var assembler = FrameAssembler(), output: [EncodedFrame] = []
        packet(160).withUnsafeBufferPointer { assembler.packet($0, law: .muLaw, now: 1_000, into: &output) }
        assembler.tick(now: 61_000, law: .muLaw, into: &output)
        #expect(output.count == 1 + 16)
    }

    @Test(arguments: [UInt8(30), 45, 60]) func noiseIsAsLoudAsTheFarEndSays(level: UInt8) {
        for law in [CompandingLaw.muLaw, .aLaw] {
            var noise = ComfortNoise()
            noise.level = level
            var sum = 0.0
            for _ in 0..<50 {
                let frame = noise.frame(law: law)
                for index in 0..<EncodedFrame.byteCount {
                    let sample = Double(
                        law == .muLaw ? MuLaw.decode(frame.bytes[index]) : ALaw.decode(frame.bytes[index]))
                    sum += sample * sample
                }
            }
            let measured = -20 * log10((sum / Double(50 * EncodedFrame.byteCount)).squareRoot() / 32_767)
            #expect(abs(measured - Double(level)) < 1.5)
        }
    }
}
