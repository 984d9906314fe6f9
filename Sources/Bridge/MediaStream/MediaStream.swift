public import Pipeline

/// One message of a media-stream conversation, in the same form for every dialect.
public enum MediaStreamMessage: Sendable, Equatable {
    case connected
    case start(StreamStart)
    case media(EncodedFrame)
    case dtmf(Character)
    /// To the carrier: "tell me when everything before this has played". From it: it has, or `clear` dropped it. So it
    /// is in every dialect: what its carrier does not give back comes back from `WebSocketMediaStream`.
    case mark(String)
    /// Drop what has not played.
    case clear
    case stop
}

/// One side of a call, as a carrier sees it: what comes from the far end, and what goes there.
public enum MediaTrack: String, Sendable { case inbound, outbound }

/// What the carrier says of the stream before its first media.
public struct StreamStart: Sendable, Equatable {
    public var streamID: String
    public var callID: String
    public var parameters: [String: String]
    public init(streamID: String, callID: String, parameters: [String: String] = [:]) {
        self.streamID = streamID
        self.callID = callID
        self.parameters = parameters
    }
}

/// One end of a media stream: typed messages both ways. Confined to its loop.
///
/// The same interface whether the far end is in this process (`MediaStreamPair`: no base64, no JSON) or behind a
/// WebSocket (`WebSocketMediaStream`).
public protocol MediaStream: AnyObject {
    var onMessage: ((MediaStreamMessage) -> Void)? { get set }
    /// Called once, when the far end is gone; `reason` is for the operator.
    var onClose: ((_ reason: String) -> Void)? { get set }
    /// What is sent takes time to arrive, and so does the answer: the far end is behind a network.
    var isRemote: Bool { get }
    /// Name of the dialect that is spoken; nil: the far end is in this process.
    var dialectName: String? { get }
    /// Frames that one message had best hold, where speech is sent ahead of its time: a message costs more than what is
    /// in it.
    var framesPerMessage: Int { get }
    /// Frames that may wait for a message to be full; speech is to be sent so much further ahead.
    var heldFrames: Int { get }
    /// The far end has asked for no more sound for now.
    var isPaused: Bool { get }
    /// Hertz of the sound that `onWideSound` hears; 8 000, a frame's: it hears none. A handshake may change it.
    var soundRate: Int32 { get }
    /// Hears wide sound: the 20 ms of the frame that `onMessage` hears next, at the stream's own rate, at most 24 kHz.
    /// Each frame of a wide stream has it. A call without a listener has the same frames at the same times.
    var onWideSound: ((AudioFrame) -> Void)? { get set }
    /// What the conversation has found out, by names; told to the far end with the stream's end, where the protocol has
    /// room for it. To be set before `close`.
    var results: [String: String] { get set }
    /// False: closed, or the far end takes nothing more at the moment.
    @discardableResult
    func send(_ message: MediaStreamMessage) -> Bool
    /// Frames that follow each other, in one message where the protocol has room for them; all or none.
    func send(_ frames: UnsafeBufferPointer<EncodedFrame>) -> Bool
    func close()
}

extension MediaStream {
    public var dialectName: String? { nil }
    public var framesPerMessage: Int { 1 }
    public var heldFrames: Int { 0 }
    public var isPaused: Bool { false }
    public var soundRate: Int32 { 8_000 }
    /// Its sound is wider than a frame's.
    public var isWide: Bool { soundRate > 8_000 }
    public var onWideSound: ((AudioFrame) -> Void)? {
        get { nil }
        set {}
    }
    public var results: [String: String] {
        get { [:] }
        set {}
    }
    public func send(_ frames: UnsafeBufferPointer<EncodedFrame>) -> Bool {
        for frame in frames { guard send(.media(frame)) else { return false } }
        return true
    }
}
