import CSoxr

/// Sample-rate conversion by libsoxr, mono 16-bit.
///
/// The stock recipes hold speech back by 40–115 ms. This one is tuned for telephony: a transition band from 85 % to
/// 115 % of the narrower Nyquist rate and the smallest DFT, which gives ≤ 10 ms at 8↔24 kHz and ≤ 15 ms at 8↔16 kHz
/// (`trunkline bench pipeline` measures it), flat to 3.4 kHz.
public struct Resampler: Processor, ~Copyable {
    private let handle: soxr_t
    private let from: Int32
    private let to: Int32
    private var turn: Int32 = 0

    /// - Throws: `StageError.unavailable` if libsoxr refuses the rates.
    public init(from: Int32, to: Int32) throws {
        guard (4_000...192_000).contains(from), (4_000...192_000).contains(to) else {
            throw StageError(.badInput, "resampler: rates must lie in 4000...192000 Hz, not \(from) and \(to)")
        }
        var error: soxr_error_t?
        var io = soxr_io_spec(SOXR_INT16_I, SOXR_INT16_I)
        io.flags = UInt(SOXR_NO_DITHER)
        var quality = soxr_quality_spec(UInt(SOXR_LQ), 0)
        quality.passband_end = 0.85
        quality.stopband_begin = 1.15
        var runtime = soxr_runtime_spec(1)
        runtime.log2_min_dft_size = 8
        runtime.log2_large_dft_size = 8
        guard let handle = soxr_create(Double(from), Double(to), 1, &error, &io, &quality, &runtime) else {
            throw StageError(.unavailable, error.map { String(cString: $0) } ?? "soxr_create failed")
        }
        self.handle = handle
        self.from = from
        self.to = to
    }

    deinit { soxr_delete(handle) }

    public mutating func process(_ input: AudioFrame, into output: inout [AudioFrame]) throws {
        guard input.sampleRate == from else {
            throw StageError(.badInput, "resampler for \(from) Hz was given \(input.sampleRate) Hz")
        }
        turn = input.turn
        input.withSamples { samples in
            guard var next = samples.baseAddress else { return }
            var left = samples.count
            while left > 0 {
                let consumed = emit(from: next, count: left, into: &output)
                next += consumed
                left -= consumed
                if consumed == 0 { break }
            }
        }
        // What did not fit into one frame is still inside soxr: take it now.
        while let last = output.last, last.count == AudioFrame.capacity {
            let before = output.count
            _ = emit(from: nil, count: 0, into: &output)
            if output.count == before { break }
        }
    }

    /// Clears the filter: the tail of flushed speech is never heard.
    public mutating func flush() { soxr_clear(handle) }

    public mutating func finish(into output: inout [AudioFrame]) throws {
        var made = 0
        repeat {
            var frame = AudioFrame(sampleRate: to, turn: turn)
            frame.fill { buffer in
                _ = soxr_process(handle, nil, 0, nil, buffer.baseAddress, buffer.count, &made)
                return made
            }
            if made > 0 { output.append(frame) }
        } while made == AudioFrame.capacity
        soxr_clear(handle)
    }

    private func emit(from source: UnsafePointer<Int16>?, count: Int, into output: inout [AudioFrame]) -> Int {
        var consumed = 0
        var frame = AudioFrame(sampleRate: to, turn: turn)
        frame.fill { buffer in
            var made = 0
            var nothing: Int16 = 0
            if let source {
                _ = soxr_process(handle, source, count, &consumed, buffer.baseAddress, buffer.count, &made)
            } else {
                _ = soxr_process(handle, &nothing, 0, &consumed, buffer.baseAddress, buffer.count, &made)
            }
            return made
        }
        if frame.count > 0 { output.append(frame) }
        return consumed
    }
}
