import Foundation
import Testing

@testable import Net

/// A frame as a client sends it; `isMasked: false` and `lengthBytes` make wrong ones.
private func frame(
    _ opcode: UInt8, _ payload: [UInt8], isFinal: Bool = true, reserved: UInt8 = 0, isMasked: Bool = true,
    lengthBytes: Int? = nil
) -> [UInt8] {
    var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
    let count = lengthBytes ?? (payload.count < 126 ? 0 : payload.count < 65_536 ? 2 : 8)
    bytes.append((isMasked ? 0x80 : 0) | (count == 0 ? UInt8(payload.count) : count == 2 ? 126 : 127))
    for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: payload.count >> (8 * index))) }
    guard isMasked else { return bytes + payload }
    let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
}

private func events(_ bytes: [UInt8], pieces: Int? = nil, maximum: Int = 1_000_000) -> [String] {
    var parser = WebSocketFrameParser()
    parser.maximumMessage = maximum
    var told: [String] = []
    let size = pieces ?? max(1, bytes.count)
    for start in stride(from: 0, to: bytes.count, by: size) {
        var piece = Array(bytes[start..<min(bytes.count, start + size)])
        piece.withUnsafeMutableBytes { buffer in
            var used = 0
            while used < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[used...])
                let step = parser.next(rest)
                used += step.consumed
                guard let event = step.event else { break }
                let payload = step.payload.map { Array(rest[$0]) } ?? parser.takePayload()
                switch event {
                case .text: told.append("text " + String(decoding: payload, as: UTF8.self))
                case .binary: told.append("binary \(payload.count)")
                case .ping: told.append("ping " + String(decoding: payload, as: UTF8.self))
                case .pong: told.append("pong")
                case .close(let code): told.append("close \(code ?? 0)")
                case .failure(let code):
                    told.append("failure \(code)")
                    return
                }
            }
        }
        if told.last?.hasPrefix("failure") == true { break }
    }
    return told
}

@Suite struct WebSocketFrameParserTests {
    private static let hello = Array("hello, 안녕".utf8)

    @Test func messagesAreReadHoweverTheyAreCut() {
        let bytes =
            frame(1, Self.hello) + frame(9, Array("p".utf8)) + frame(2, [UInt8](repeating: 1, count: 300))
            + frame(1, Array("fra".utf8), isFinal: false)
            + frame(10, []) + frame(0, Array("gme".utf8), isFinal: false) + frame(0, Array("nts".utf8)) + frame(1, [])
            + frame(8, [0x03, 0xE8])
        let expected = ["text hello, 안녕", "ping p", "binary 300", "pong", "text fragments", "text ", "close 1000"]
        for pieces in [nil, 1, 2, 3, 5, 64] {
            #expect(events(bytes, pieces: pieces) == expected, "in pieces of \(pieces ?? 0)")
        }
    }

    @Test(
        arguments: [
            (frame(1, hello, isMasked: false), 1002), (frame(1, hello, reserved: 4), 1002), (frame(3, []), 1002),
            (frame(11, []), 1002),
            (frame(0, hello), 1002), (frame(9, [], isFinal: false), 1002),
            (frame(9, [UInt8](repeating: 0, count: 126)), 1002),
            (frame(1, hello, isFinal: false) + frame(1, hello), 1002), (frame(1, hello, lengthBytes: 2), 1002),
            (frame(1, hello, lengthBytes: 8), 1002),
            ([0x82, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4], 1002),
            (frame(8, [3]), 1002), (frame(8, [0x03, 0xED]), 1002), (frame(8, [0x03, 0xE8, 0xFF]), 1002),
            (frame(8, [0, 0]), 1002),
            (frame(1, [0xC3, 0x28]), 1007), (frame(1, [0xED, 0xA0, 0x80]), 1007), (frame(1, [0xC0, 0x80]), 1007),
            (frame(1, [0xF4, 0x90, 0x80, 0x80]), 1007),
            (frame(1, [0xE2, 0x82]), 1007), (frame(1, [0xE2], isFinal: false) + frame(0, [0x82]), 1007),
            (frame(2, [UInt8](repeating: 0, count: 2_001)), 1009),
            (
                frame(2, [UInt8](repeating: 0, count: 1_500), isFinal: false)
                    + frame(0, [UInt8](repeating: 0, count: 600)), 1009
            ),
            ([0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3, 4], 1009),
        ] as [([UInt8], Int)])
    func invalidClientFramesCloseTheConnection(bytes: [UInt8], code: Int) {
        for pieces in [nil, 1, 3] {
            #expect(
                events(bytes, pieces: pieces, maximum: 2_000).last == "failure \(code)", "in pieces of \(pieces ?? 0)")
        }
    }

    /// A character may be cut by fragments; only the whole message must be UTF-8 (§8.1).
    @Test func aCharacterMayGoOverTwoFragments() {
        #expect(events(frame(1, [0xE2, 0x82], isFinal: false) + frame(0, [0xAC])) == ["text €"])
    }

    @Test func theSizeIsRefusedFromTheHeaderAlone() {
        #expect(
            events(Array(frame(2, [UInt8](repeating: 0, count: 70_000)).prefix(14)), maximum: 60_000) == [
                "failure 1009"
            ])
    }

    /// Against Foundation's decoder, which is right and slow.
    @Test func utf8IsWhatTheStandardSays() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<30_000 {
            let bytes = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                Bool.random(using: &generator)
                    ? UInt8.random(in: 0x20...0x7E, using: &generator)
                    : UInt8.random(in: 0x80...0xFF, using: &generator)
            }
            #expect(
                bytes.withUnsafeBytes { UTF8Text.isValid($0) } == (String(validating: bytes, as: UTF8.self) != nil),
                "\(bytes)")
        }
    }

    @Test func randomBytesNeverTrapAndCutsMakeNoDifference() {
        let seed =
            frame(1, Self.hello) + frame(1, [65], isFinal: false) + frame(9, [1]) + frame(0, [66])
            + frame(8, [0x03, 0xE8])
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<5_000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(
                    in: .min ... .max, using: &generator)
            }
            #expect(
                events(bytes, maximum: 5_000)
                    == events(bytes, pieces: Int.random(in: 1...7, using: &generator), maximum: 5_000))
        }
    }
}
