import Foundation
import TestSupport
import Testing

@testable import Pipeline

@Suite struct G711Tests {
    @Test func everyCodeWordSurvivesDecodingAndEncoding() {
        for byte in UInt8.min...UInt8.max {
            // μ-law has two zeros; both decode to 0.
            let muLaw = MuLaw.encode(MuLaw.decode(byte))
            #expect(muLaw == byte || MuLaw.decode(byte) == 0)
            #expect(ALaw.encode(ALaw.decode(byte)) == byte)
        }
    }

    @Test(arguments: [(0, 0xFF), (32_124, 0x80), (-32_124, 0x00), (8, 0xFE), (-8, 0x7E)] as [(Int16, UInt8)])
    func muLawKnownValues(sample: Int16, code: UInt8) { #expect(MuLaw.encode(sample) == code) }

    @Test(arguments: [(8, 0xD5), (-8, 0x55), (32_256, 0xAA), (-32_256, 0x2A)] as [(Int16, UInt8)])
    func aLawKnownValues(sample: Int16, code: UInt8) { #expect(ALaw.encode(sample) == code) }

    @Test func extremesDoNotTrap() {
        for sample in [Int16.min, .max, -1, 0, 1] {
            _ = MuLaw.encode(sample)
            _ = ALaw.encode(sample)
        }
    }

    @Test func decodersAndEncodersKeepTurnAndLength() throws {
        var frame = EncodedFrame(law: .aLaw, turn: 7)
        frame.bytes[0] = 0x2A
        let decoded = try StageHarness.run(ALawDecoder(), [frame])
        #expect(decoded.count == 1 && decoded[0].turn == 7 && decoded[0].count == 160 && decoded[0].sampleRate == 8_000)
        let encoded = try StageHarness.run(ALawEncoder(), decoded)
        #expect(encoded[0].bytes[0] == 0x2A && encoded[0].turn == 7)
        #expect(G711.transcode(frame, to: .muLaw).law == .muLaw)
        #expect(
            try StageHarness.run(MuLawEncoder(), StageHarness.run(MuLawDecoder(), [EncodedFrame()])) == [EncodedFrame()]
        )
    }
}
