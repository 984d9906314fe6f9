internal import DequeModule

/// 20 ms of the caller's sound as a wide stream brings it, or none: linear 16-bit PCM, mono, at more than 8 and at most
/// 24 kHz.
///
/// A call whose stream has no more than a frame's 8 kHz has none, and pays nothing for it. The storage is used again.
public struct WideSound: Sendable {
    /// None or one: a list, so that whatever holds it stays small.
    private(set) var pieces: [AudioFrame] = []

    public init() {}

    public var isEmpty: Bool { pieces.isEmpty }
    public var sound: AudioFrame? { pieces.first }

    public mutating func set(_ sound: AudioFrame) {
        drop()
        pieces.append(sound)
    }

    public mutating func drop() { if !pieces.isEmpty { pieces.removeAll(keepingCapacity: true) } }

    /// Takes over what another one holds, which is empty afterwards.
    mutating func take(_ other: inout WideSound) {
        guard !isEmpty || !other.isEmpty else { return }
        swap(&pieces, &other.pieces)
        other.drop()
    }
}

/// Frames of the caller that wait, in order, each with its wide sound. Wide sound waits in a queue of its own: a call
/// without it stores and copies no more than its frames.
public struct HeardQueue {
    private let keepsWide: Bool
    private var frames: Deque<(frame: EncodedFrame, isWide: Bool)> = []
    private var wide: Deque<AudioFrame> = []

    /// - Parameter keepsWide: false: no consumer takes wide sound, and it is left out.
    public init(keepsWide: Bool) { self.keepsWide = keepsWide }

    public var count: Int { frames.count }

    public mutating func append(_ frame: EncodedFrame, wide sound: WideSound) {
        guard keepsWide, let sound = sound.sound else { return frames.append((frame, false)) }
        frames.append((frame, true))
        wide.append(sound)
    }

    public mutating func removeFirst() { if frames.popFirst()?.isWide == true { wide.removeFirst() } }

    /// Takes the first frame out. False: none waits.
    public mutating func popFirst(into frame: inout EncodedFrame, wide sound: inout WideSound) -> Bool {
        guard let first = frames.popFirst() else { return false }
        frame = first.frame
        if first.isWide { sound.set(wide.removeFirst()) } else { sound.drop() }
        return true
    }

    public mutating func removeAll() {
        frames.removeAll(keepingCapacity: true)
        wide.removeAll(keepingCapacity: true)
    }
}
