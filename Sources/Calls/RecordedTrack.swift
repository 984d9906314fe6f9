internal import DequeModule
internal import Pipeline

/// One side of a wide recording: frames become samples at the recording's rate, those of each frame at its place.
///
/// The resampler is late; its samples are counted, so that they stand where their frames would stand in a recording of
/// 8 kHz. Frames that follow each other go through one filter, whatever the jitter of their places; after a gap it
/// begins anew.
final class RecordedTrack {
    /// Samples of a frame.
    private let frameSamples: Int
    /// Frames that are off by more samples than this do not follow each other.
    private let gap: Int
    private var converter: RateConverter
    private var pieces: [AudioFrame] = []
    /// Places of the frames whose samples are not all out, in order; the resampler's delay bounds them.
    private var places: Deque<Int> = []
    /// Samples of the first of them that are out.
    private var done = 0
    private var next = 0

    /// - Parameters:
    ///   - sampleRate: of the recording, hertz.
    ///   - gapMs: what is off by more begins anew.
    init(sampleRate: Int, gapMs: Int) {
        frameSamples = sampleRate * EncodedFrame.milliseconds / 1_000
        gap = sampleRate * gapMs / 1_000
        converter = RateConverter(to: Int32(sampleRate), keepsTime: true)
    }

    /// - Parameters:
    ///   - place: sample of the recording at which the frame begins.
    ///   - write: gets samples that are ready, and where they begin.
    func add(
        _ frame: EncodedFrame, wide: WideSound, at place: Int, _ write: (UnsafeBufferPointer<Int16>, Int) -> Void
    ) {
        if abs(place - next) > gap { finish(write) }
        places.append(place)
        next = place + frameSamples
        pieces.removeAll(keepingCapacity: true)
        converter.process(frame, wide: wide, into: &pieces)
        hand(write)
    }

    /// The end, or a gap: what the resampler still holds.
    func finish(_ write: (UnsafeBufferPointer<Int16>, Int) -> Void) {
        guard !places.isEmpty else { return converter.flush() }
        pieces.removeAll(keepingCapacity: true)
        converter.finish(into: &pieces)
        hand(write)
        places.removeAll()
        done = 0
    }

    private func hand(_ write: (UnsafeBufferPointer<Int16>, Int) -> Void) {
        for piece in pieces {
            piece.withSamples { samples in
                var rest = samples
                // By rounding the filter may make a sample more than its frames have.
                while !rest.isEmpty, let place = places.first {
                    let count = min(frameSamples - done, rest.count)
                    write(UnsafeBufferPointer(rebasing: rest[..<count]), place + done)
                    rest = UnsafeBufferPointer(rebasing: rest[count...])
                    done += count
                    guard done == frameSamples else { continue }
                    places.removeFirst()
                    done = 0
                }
            }
        }
    }
}
