import CSoxr

/// Sample-rate conversion, mono 16-bit, with a transition band from 85 % to 115 % of the narrower Nyquist rate: flat to
/// 3.4 kHz where that is 4 kHz.
///
/// A whole ratio (8, 16, 24 and 48 kHz) is 2 ms late and makes 20 ms of 20 ms (`RatioFilter`). All others are
/// libsoxr's, with the smallest DFT: its stock recipes hold speech back by 40–115 ms, this one by 8–13 ms, and it
/// keeps its input's time. `trunkline bench pipeline` measures both.
public struct Resampler: Processor, ~Copyable {
    private var ratio: RatioFilter?
    private let handle: soxr_t?
    private let from: Int32
    private let to: Int32
    private var turn: Int32 = 0

    /// - Parameter keepsTime: a sample out stands where it stood in what went in, whatever the ratio; for sound that is
    ///   all there.
    /// - Throws: `StageError.unavailable` if libsoxr refuses the rates.
    public init(from: Int32, to: Int32, keepsTime: Bool = false) throws {
        guard (4_000...192_000).contains(from), (4_000...192_000).contains(to) else {
            throw StageError(.badInput, "resampler: rates must lie in 4000...192000 Hz, not \(from) and \(to)")
        }
        let ratio = keepsTime ? nil : RatioFilter(from: from, to: to)
        let handle = ratio == nil ? try Self.soxr(from, to) : nil
        self.ratio = ratio
        self.handle = handle
        self.from = from
        self.to = to
    }

    /// How much later than it went in the sound comes out, ms.
    var lateMs: Double { ratio?.lateMs ?? 0 }

    private static func soxr(_ from: Int32, _ to: Int32) throws -> soxr_t {
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
        return handle
    }

    deinit { if let handle { soxr_delete(handle) } }

    public mutating func process(_ input: AudioFrame, into output: inout [AudioFrame]) throws {
        guard input.sampleRate == from else {
            throw StageError(.badInput, "resampler for \(from) Hz was given \(input.sampleRate) Hz")
        }
        turn = input.turn
        guard handle != nil else {
            input.withSamples { (samples) -> Void in
                ratio?.process(samples, rate: to, turn: turn, into: &output)
            }
            return
        }
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
    public mutating func flush() {
        ratio?.clear()
        if let handle { soxr_clear(handle) }
    }

    /// Of a whole ratio nothing is left to come but the filter's own 2 ms, which are dropped.
    public mutating func finish(into output: inout [AudioFrame]) throws {
        guard let handle else {
            ratio?.clear()
            return
        }
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
