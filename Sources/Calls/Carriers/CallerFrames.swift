internal import Pipeline

extension WaveFile {
    /// 20 ms frames at 8 kHz, and the wide sound of each where the file has more; what is no whole frame at the end is
    /// dropped.
    var callerFrames: (frames: [EncodedFrame], wide: [AudioFrame]) {
        guard var framer = try? CallerFramer(sampleRate: sampleRate) else { return ([], []) }
        var frames: [EncodedFrame] = []
        var wide: [AudioFrame] = []
        for start in stride(from: 0, to: samples.count, by: AudioFrame.capacity) {
            var piece = AudioFrame(sampleRate: sampleRate)
            samples[start...].prefix(AudioFrame.capacity).withUnsafeBufferPointer { _ = piece.append($0) }
            try? framer.process(piece, into: &frames, wide: &wide)
        }
        return (frames, wide)
    }
}
