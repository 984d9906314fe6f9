import Foundation
import Pipeline
import Testing

@testable import Bridge

/// Speech that is written otherwise than was announced is noise.
@Suite struct SoundLookTests {
    static let encodings: [WireFormat.Encoding] = [.muLaw, .aLaw, .linear16(.little), .linear16(.big)]

    private func write(_ encoding: WireFormat.Encoding) -> [UInt8] {
        let samples = CheckSpeech.frames(100).flatMap { frame in frame.withBytes { $0.map(MuLaw.decode) } }
        return samples.flatMap { sample -> [UInt8] in
            let bits = UInt16(bitPattern: sample)
            return switch encoding {
            case .muLaw: [MuLaw.encode(sample)]
            case .aLaw: [ALaw.encode(sample)]
            case .linear16(.little): [UInt8(truncatingIfNeeded: bits), UInt8(bits >> 8)]
            case .linear16(.big): [UInt8(bits >> 8), UInt8(truncatingIfNeeded: bits)]
            }
        }
    }

    @Test(arguments: encodings, encodings)
    func onlyWhatWasAnnouncedPasses(said: WireFormat.Encoding, sent: WireFormat.Encoding) {
        var look = SoundLook()
        let bytes = write(sent)
        for start in stride(from: 0, to: bytes.count - 319, by: 320) {
            look.look(at: Array(bytes[start..<start + 320]), WireFormat(said))
        }
        let verdict = look.finding?.verdict
        #expect(
            said == sent ? verdict == .pass : verdict == .fail, "\(said) \(sent): \(String(describing: look.finding))")
    }

    @Test func silenceIsNoEvidence() {
        var look = SoundLook()
        for _ in 0..<200 { look.look(at: [UInt8](repeating: 0xFF, count: 160), .muLaw8k) }
        #expect(look.finding == nil)
    }
}
