import Foundation
import Testing

@testable import Pipeline

@Suite struct WaveFileTests {
    private static let file = WaveFile(sampleRate: 8_000, samples: [0, 1, -1, 32_767, -32_768])

    @Test func writtenFilesParseBack() throws { #expect(try WaveFile(Self.file.bytes) == Self.file) }

    @Test func otherChunksAreSkippedAndTheFirstChannelTaken() throws {
        var bytes = Self.file.bytes
        bytes.insert(contentsOf: Array("LIST".utf8) + [3, 0, 0, 0, 1, 2, 3, 0], at: 12)
        #expect(try WaveFile(bytes) == Self.file)
        bytes = Self.file.bytes
        bytes[22] = 2
        #expect(try WaveFile(bytes).samples == [0, -1])
    }

    @Test func companded() throws {
        var bytes = Self.file.bytes
        (bytes[20], bytes[34]) = (7, 8)
        #expect(try WaveFile(bytes).samples.count == 10)
    }

    /// Carriers stream a file whose length they do not know yet.
    @Test func aFileThatWasCutOffGivesWhatIsThere() throws {
        var bytes = Self.file.bytes
        bytes.replaceSubrange(40..<44, with: [255, 255, 255, 255])
        #expect(try WaveFile(bytes).samples == Self.file.samples)
        #expect(try WaveFile(Array(bytes.dropLast(3))).samples == [0, 1, -1])
    }

    @Test func noFileIsReadWrong() {
        let bytes = Self.file.bytes
        for count in 0..<44 { #expect(throws: WaveFile.Malformed.self) { try WaveFile(Array(bytes[..<count])) } }
        for (at, value) in [(0, 0), (8, 0), (20, 3), (22, 0), (22, 9), (24, 0), (34, 24), (16, 255)] as [(Int, UInt8)] {
            var broken = bytes
            broken[at] = value
            if at == 24 { broken[25] = 0 }
            #expect(throws: WaveFile.Malformed.self, "\(at)") { try WaveFile(broken) }
        }
    }
}
