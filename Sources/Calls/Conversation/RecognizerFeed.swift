internal import DequeModule
internal import Pipeline
internal import Realtime

/// What of the caller's sound a recogniser gets, in its format: speech with a short past and a short tail.
///
/// It gets nothing while nobody speaks. Of a silence inside a turn only the beginning is recognised as it comes, for
/// it may be
/// the turn's end, and then no more than that is wanted; the rest follows when speech goes on.
struct RecognizerFeed: ~Copyable {
    /// Silence at a turn's end that is still recognised, frames (200 ms).
    static let tailFrames = 10

    private let input: Edge<RecognizerInput>
    /// Frames kept from before the detected start of speech.
    private let prefixFrames: Int
    private var prefix: Deque<EncodedFrame> = []
    private var heldSilence: [EncodedFrame] = []
    private var silentFrames = 0
    private var decoder = MuLawDecoder()
    /// Where the recogniser wants another rate than the line's.
    private var resampler: Resampler?
    private var decoded: [AudioFrame] = []
    private var converted: [AudioFrame] = []
    private var heardFrames = 0

    init(to input: Edge<RecognizerInput>, sampleRate: Int32, prefixMs: Int) {
        self.input = input
        prefixFrames = prefixMs / EncodedFrame.milliseconds
        resampler = sampleRate == 8_000 ? nil : try? Resampler(from: 8_000, to: sampleRate)
    }

    mutating func hear(_ frame: EncodedFrame, isSpeech: Bool, isInTurn: Bool) {
        guard isInTurn else {
            if prefix.count >= prefixFrames, !prefix.isEmpty { prefix.removeFirst() }
            if prefixFrames > 0 { prefix.append(frame) }
            return
        }
        for old in prefix { recognize(old) }
        prefix.removeAll(keepingCapacity: true)
        silentFrames = isSpeech ? 0 : silentFrames + 1
        if silentFrames > Self.tailFrames {
            heldSilence.append(frame)
        } else {
            for old in heldSilence { recognize(old) }
            heldSilence.removeAll(keepingCapacity: true)
            recognize(frame)
        }
    }

    private mutating func recognize(_ frame: EncodedFrame) {
        // Taken out for the call: `convert` changes this value too.
        var pieces = converted
        converted = []
        pieces.removeAll(keepingCapacity: true)
        convert(frame, into: &pieces)
        for piece in pieces { input.offer(.audio(piece)) }
        converted = pieces
    }

    /// Appends a frame, whatever is in it, in the recogniser's format.
    mutating func convert(_ frame: EncodedFrame, into output: inout [AudioFrame]) {
        let spoken = frame.law == .muLaw ? frame : G711.transcode(frame, to: .muLaw)
        heardFrames += 1
        guard resampler != nil else { return decoder.process(spoken, into: &output) }
        decoded.removeAll(keepingCapacity: true)
        decoder.process(spoken, into: &decoded)
        for piece in decoded { try? resampler?.process(piece, into: &output) }
    }

    /// The turn is over: the recogniser is to report it.
    mutating func endTurn() {
        forget()
        input.offer(.turnEnded)
    }

    /// The turn is over, and not recognised.
    mutating func forget() {
        heldSilence.removeAll(keepingCapacity: true)
        silentFrames = 0
        resampler?.flush()
    }

    /// Milliseconds the recogniser was given since this was asked last.
    mutating func takeHeardMs() -> Int {
        defer { heardFrames = 0 }
        return heardFrames * EncodedFrame.milliseconds
    }
}
