public import Bridge
public import Net
internal import Pipeline

/// The far end of a media stream, on a manual loop's clock. It sends a frame and plays a received frame every 20 ms.
/// It echoes a mark when the audio before the mark has played, or at once after `clear`.
public final class ScriptedCaller {
    public let loop: EventLoop
    private let stream: any MediaStream
    private var ticker: EventLoop.Ticker?
    private enum Item { case frame, mark(String) }
    private var queue: [Item] = []
    private var speech = 0
    /// Milliseconds of ours that were played, and times that the rest was dropped.
    public private(set) var playedMs = 0
    public private(set) var clears = 0
    public private(set) var pressed: [Character] = []
    public private(set) var isClosed = false
    /// False: its carrier sends nothing while it does not speak.
    public var sendsSilence = true

    /// A loud tone: speech to a detector.
    static let voice: EncodedFrame = {
        var frame = EncodedFrame()
        for index in 0..<EncodedFrame.byteCount { frame.bytes[index] = index % 8 < 4 ? 0x90 : 0x10 }
        return frame
    }()

    public init(_ stream: any MediaStream, on loop: EventLoop) {
        self.stream = stream
        self.loop = loop
        stream.onMessage = { [unowned self] in self.received($0) }
        stream.onClose = { [unowned self] _ in self.isClosed = true }
        ticker = loop.addTicker { [unowned self] _ in self.tick() }
    }

    /// Speaks for so long, from now on.
    public func speak(ms: Int) { speech = ms / EncodedFrame.milliseconds }
    public func press(_ digit: Character) { loop.run { _ = stream.send(.dtmf(digit)) } }
    public func hangUp() { loop.run { _ = stream.send(.stop) } }

    private func received(_ message: MediaStreamMessage) {
        switch message {
        case .media: queue.append(.frame)
        case .mark(let name): queue.append(.mark(name))
        case .clear:
            clears += 1
            let dropped = queue
            queue = []
            for case .mark(let name) in dropped { stream.send(.mark(name)) }
        case .dtmf(let digit): pressed.append(digit)
        case .connected, .start, .stop: break
        }
    }

    private func tick() {
        while case .mark(let name)? = queue.first {
            queue.removeFirst()
            stream.send(.mark(name))
        }
        if case .frame? = queue.first {
            queue.removeFirst()
            playedMs += EncodedFrame.milliseconds
        }
        if speech > 0 || sendsSilence { stream.send(.media(speech > 0 ? Self.voice : EncodedFrame())) }
        speech = max(0, speech - 1)
    }

    public func leave() {
        loop.run {
            ticker?.cancel()
            ticker = nil
            stream.onMessage = nil
            stream.onClose = nil
            stream.close()
        }
    }
}
