internal import Pipeline

/// What was read and written again is the same sound.
func fuzzWave(_ input: FuzzInput) {
    guard let wave = try? WaveFile(input.bytes) else { return }
    expect(wave.samples.count <= input.bytes.count, "more samples than bytes")
    expect((4_000...192_000).contains(wave.sampleRate), "\(wave.sampleRate) Hz")
    let bytes = wave.bytes
    expect(bytes.count == WaveFile.headerLength + 2 * wave.samples.count, "a file of \(bytes.count) bytes")
    expect((try? WaveFile(bytes)) == wave, "read again, it is another sound")
}
