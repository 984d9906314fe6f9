internal import Pipeline
internal import Realtime

/// What of the caller's sound a recogniser gets, in its format: speech with a short past and a short tail.
///
/// It gets nothing while the caller is silent. Of a silence inside a turn only the beginning is recognised as it comes,
/// for it may be the turn's end, and then no more than that is wanted; the rest follows when speech goes on.
struct RecognizerFeed: ~Copyable {
    /// Silence at a turn's end that is still recognised, frames (200 ms).
    static let tailFrames = 10

    private let input: Edge<RecognizerInput>
    /// Frames kept from before the detected start of speech.
    private let prefixFrames: Int
    private var prefix: HeardQueue
    private var heldSilence: HeardQueue
    private var silentFrames = 0
    private var converter: RateConverter
    private var converted: [AudioFrame] = []
    private var heardFrames = 0
    // What was kept, on its way to the recogniser.
    private var keptFrame = EncodedFrame()
    private var keptWide = WideSound()

    /// - Parameter sampleRate: of the recogniser, hertz; where it is above 8 kHz, it gets wide sound.
    init(to input: Edge<RecognizerInput>, sampleRate: Int32, prefixMs: Int) {
        self.input = input
        prefixFrames = prefixMs / EncodedFrame.milliseconds
        converter = RateConverter(to: sampleRate)
        prefix = HeardQueue(keepsWide: sampleRate > 8_000)
        heldSilence = HeardQueue(keepsWide: sampleRate > 8_000)
    }

    mutating func hear(_ heard: borrowing HeardFrame) {
        guard heard.isInTurn else {
            if prefixFrames > 0, prefix.count >= prefixFrames { prefix.removeFirst() }
            if prefixFrames > 0 { prefix.append(heard.frame, wide: heard.wide) }
            return
        }
        while prefix.popFirst(into: &keptFrame, wide: &keptWide) { recognize(keptFrame, keptWide) }
        silentFrames = heard.activity.isSpeech ? 0 : silentFrames + 1
        if silentFrames > Self.tailFrames {
            heldSilence.append(heard.frame, wide: heard.wide)
        } else {
            while heldSilence.popFirst(into: &keptFrame, wide: &keptWide) { recognize(keptFrame, keptWide) }
            recognize(heard.frame, heard.wide)
            if silentFrames == Self.tailFrames { input.offer(.paused) }
        }
    }

    private mutating func recognize(_ frame: EncodedFrame, _ wide: WideSound) {
        // Taken out for the call: `convert` changes this value too.
        var pieces = converted
        converted = []
        pieces.removeAll(keepingCapacity: true)
        convert(frame, wide: wide, into: &pieces)
        for piece in pieces { input.offer(.audio(piece)) }
        converted = pieces
    }

    /// Appends a frame, whatever is in it, in the recogniser's format.
    mutating func convert(_ frame: EncodedFrame, wide: WideSound, into output: inout [AudioFrame]) {
        heardFrames += 1
        converter.process(frame, wide: wide, into: &output)
    }

    /// The turn is over: the recogniser is to report it.
    mutating func endTurn() {
        forget()
        input.offer(.turnEnded)
    }

    /// The turn is over, and not recognised.
    mutating func forget() {
        heldSilence.removeAll()
        silentFrames = 0
        converter.flush()
    }

    /// Milliseconds the recogniser was given since this was asked last.
    mutating func takeHeardMs() -> Int {
        defer { heardFrames = 0 }
        return heardFrames * EncodedFrame.milliseconds
    }
}
