internal import Pipeline
internal import Synchronization

/// The sound of sentences that calls speak again and again: greetings, questions of a template, "Pardon?".
///
/// Of a sentence that was spoken once only a hash is kept: what is said to one caller alone is mostly said once. The
/// cache lies in memory and nowhere else; what has not been used for the longest time leaves, and a restart empties it.
final class SentenceCache: Sendable {
    struct Key: Hashable, Sendable {
        var voice: String
        var language: String
        var text: String
    }

    /// Bytes of sound: nine minutes at 8 kHz.
    private static let byteLimit = 8 << 20
    /// Bytes that a sentence takes beside its sound.
    private static let overhead = 512
    /// Sentences spoken once that are remembered.
    private static let onceLimit = 4_096

    private struct Entry {
        var samples: [Int16]
        var usedAt: UInt64
        var cost: Int { 2 * samples.count + SentenceCache.overhead }
    }
    private struct State {
        var entries: [Key: Entry] = [:]
        var bytes = 0
        var once: Set<Int> = []
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int = byteLimit) { self.limit = limit }

    /// Bytes that all sentences take.
    var bytes: Int { state.withLock { $0.bytes } }

    /// The sentence as 20 ms frames at 8 kHz, if it is kept.
    func frames(_ key: Key, turn: Int32) -> [AudioFrame]? {
        let samples = state.withLock { state -> [Int16]? in
            state.uses &+= 1
            state.entries[key]?.usedAt = state.uses
            return state.entries[key]?.samples
        }
        return samples.map { Self.frames(of: $0, turn: turn) }
    }

    /// Keeps a sentence that is spoken for the second time.
    func spoke(_ key: Key, _ frames: [AudioFrame]) {
        let isKnown = state.withLock { state in
            guard state.once.insert(key.hashValue).inserted else { return true }
            if state.once.count > Self.onceLimit { state.once = [key.hashValue] }
            return false
        }
        guard isKnown else { return }
        let samples = frames.flatMap { frame in frame.withSamples { Array($0) } }
        state.withLock { state in
            state.uses &+= 1
            let entry = Entry(samples: samples, usedAt: state.uses)
            guard entry.cost <= limit, state.entries[key] == nil else { return }
            state.entries[key] = entry
            state.bytes += entry.cost
            while state.bytes > limit, let oldest = state.entries.min(by: { $0.value.usedAt < $1.value.usedAt }) {
                state.entries[oldest.key] = nil
                state.bytes -= oldest.value.cost
            }
        }
    }

    private static func frames(of samples: [Int16], turn: Int32) -> [AudioFrame] {
        stride(from: 0, to: samples.count, by: EncodedFrame.byteCount).map { start in
            var frame = AudioFrame(sampleRate: 8_000, turn: turn)
            samples[start..<min(start + EncodedFrame.byteCount, samples.count)].withUnsafeBufferPointer {
                _ = frame.append($0)
            }
            return frame
        }
    }
}
