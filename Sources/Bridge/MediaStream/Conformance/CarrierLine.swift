internal import Net
internal import Pipeline

/// The carrier's end of a stream as a caller has it: a frame every 20 ms, playout of what comes, marks given back when
/// they have been played. Confined to its loop.
final class CarrierLine {
    /// Loud sound: the smallest peak of a frame.
    static let loudPeak: Int16 = 1_000
    /// Marks that may wait.
    static let markLimit = 1_024

    let stream: WebSocketMediaStream
    private let loop: EventLoop
    private let start: StreamStart
    private var ticker: EventLoop.Ticker?
    private var sayings: ArraySlice<EncodedFrame> = []
    private var sentFrames: UInt32 = 0
    private var marks: [(name: String, at: UInt64)] = []
    /// Until when what has come plays, ms of the loop.
    private(set) var playsUntil: UInt64 = 0

    /// What is being sent is sound.
    private(set) var isSendingSound = false

    var onBegin: (() -> Void)?
    var onTick: ((UInt64) -> Void)?
    var onSound: (() -> Void)?
    /// The far end clears, or asks for the end.
    var onClear: (() -> Void)?
    var onAsked: (() -> Void)?

    /// - Throws: for a dialect whose sound cannot be converted.
    init(
        _ socket: any MessageSocket, _ dialect: any MediaStreamDialect.Type, _ options: DialectOptions,
        _ start: StreamStart
    ) throws(MediaStreamError) {
        loop = socket.loop
        self.start = start
        stream = try WebSocketMediaStream(socket, dialect: dialect, options)
        stream.onMessage = { [unowned self] in self.received($0) }
        // The closure keeps this alive until the connection is gone.
        stream.onClose = { [self] _ in self.end() }
    }

    /// Nothing more is said, and nothing heard.
    func end() {
        ticker?.cancel()
        (onBegin, onTick, onSound, onClear, onAsked) = (nil, nil, nil, nil, nil)
    }

    /// - Parameter milliseconds: until the stream begins.
    func begin(after milliseconds: UInt64) {
        let begin = loop.timeMs + milliseconds
        var hasBegun = false
        ticker = loop.addTicker { [unowned self] now in
            guard now >= begin else { return }
            if !hasBegun {
                hasBegun = true
                self.stream.send(.connected)
                self.stream.send(.start(self.start))
                self.onBegin?()
            }
            self.tick(now)
        }
    }

    func say(_ frames: [EncodedFrame]) { sayings = frames[...] }

    private func tick(_ now: UInt64) {
        while let first = marks.first, first.at <= now {
            marks.removeFirst()
            stream.send(.mark(first.name))
        }
        var frame = sayings.popFirst() ?? EncodedFrame()
        frame.timestampMs = sentFrames &* UInt32(EncodedFrame.milliseconds)
        sentFrames &+= 1
        isSendingSound = true
        stream.send(.media(frame))
        isSendingSound = false
        onTick?(now)
    }

    private func received(_ message: MediaStreamMessage) {
        let now = loop.timeMs
        switch message {
        case .media(let frame):
            playsUntil = max(playsUntil, now) + UInt64(EncodedFrame.milliseconds)
            if frame.peak > Self.loudPeak { onSound?() }
        case .mark(let name): if marks.count < Self.markLimit { marks.append((name, max(now, playsUntil))) }
        case .clear:
            playsUntil = now
            for mark in marks { stream.send(.mark(mark.name)) }
            marks.removeAll()
            onClear?()
        case .stop: onAsked?()
        case .connected, .start, .dtmf: break
        }
    }
}
