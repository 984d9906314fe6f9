internal import Foundation
internal import Pipeline

/// What a waiting caller hears: a quiet broken chord. We synthesise it ourselves, so it is free of others' rights.
struct HoldMusic {
    /// Frames of the loop: 8 s, four chords of eight notes.
    private static let loop: [EncodedFrame] = {
        let chords: [[Double]] = [
            [261.63, 329.63, 392.00], [220.00, 261.63, 329.63], [174.61, 220.00, 261.63], [196.00, 246.94, 293.66],
        ]
        let noteSamples = 2_000
        var samples = [Int16](repeating: 0, count: chords.count * 8 * noteSamples)
        for (index, chord) in chords.enumerated() {
            for note in 0..<8 {
                let frequency = chord[[0, 1, 2, 1, 0, 2, 1, 2][note]]
                let start = (index * 8 + note) * noteSamples
                for place in 0..<noteSamples {
                    let time = Double(place) / 8_000
                    // Struck and dying away; the last 5 ms fade, or the next note would click.
                    let shape = min(1, time / 0.01) * exp(-4 * time) * min(1, Double(noteSamples - place) / 40)
                    let wave = sin(2 * .pi * frequency * time) + 0.3 * sin(4 * .pi * frequency * time)
                    samples[start + place] = Int16(3_000 * shape * wave)
                }
            }
        }
        return stride(from: 0, to: samples.count - EncodedFrame.byteCount + 1, by: EncodedFrame.byteCount).map {
            start in
            var frame = EncodedFrame(law: .muLaw)
            for index in 0..<EncodedFrame.byteCount { frame.bytes[index] = MuLaw.encode(samples[start + index]) }
            return frame
        }
    }()

    private var index = 0

    /// The next 20 ms.
    mutating func next() -> EncodedFrame {
        defer { index = (index + 1) % Self.loop.count }
        return Self.loop[index]
    }
}
