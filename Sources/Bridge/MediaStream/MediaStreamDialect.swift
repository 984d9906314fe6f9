public import Net

/// Which end of the conversation we are.
public enum MediaStreamRole: Sendable { case carrier, application }

/// A carrier's spelling of the media-stream protocol. A pure codec: no socket, no REST, no resampling, no re-framing.
/// One a stream, confined to its loop.
///
/// An application hears `connected`, `start`, `dtmf`, `mark` and `stop` and says `mark` and `clear`; a carrier the
/// other way round. What a dialect has beyond that it may say too: an application's `dtmf` (the carrier is to press
/// it), `start` (the stream is let in), `stop` (the conversation is over).
public protocol MediaStreamDialect: AnyObject, SendableMetatype {
    static var traits: DialectTraits { get }
    /// The rules by which others' servers are checked (`trunkline stream check`).
    static var conformance: DialectConformance { get }

    init(_ options: DialectOptions)

    /// As carrier: headers of the upgrade that the protocol wants, beside the token.
    static func headers(of start: StreamStart) -> [(name: String, value: String)]

    /// What is on the wire before a handshake says otherwise (`DialectInbox.agree`).
    var terms: WireTerms { get }
    /// As carrier: which side the sound is of that is encoded next.
    var track: MediaTrack { get set }

    /// As application: what is told with the stream's end, where there is room for it.
    var results: [String: String] { get set }

    /// Tells the inbox what the message says: nothing where it means nothing to us, several things where it holds many.
    func decode(
        _ bytes: UnsafeBufferPointer<UInt8>, _ kind: WebSocket.Kind, into inbox: DialectInbox
    ) throws(MediaStreamError)

    /// Bytes that `encode` may need for a message.
    func capacity(for message: MediaStreamMessage) -> Int
    /// Writes a text message and returns its length; nil if this dialect and role cannot say it. Never `media`.
    func encode(_ message: MediaStreamMessage, into target: UnsafeMutableBufferPointer<UInt8>) -> Int?

    /// Bytes that `encode` may need for so many bytes of sound.
    func capacity(forSound byteCount: Int) -> Int
    /// Writes a message of sound, in `WireTerms.outgoing` and by its `chunks`, and returns its length; negative: the
    /// protocol has no room for sound yet, or no more.
    ///
    /// - Parameter timestampMs: of its first sample, since the stream began.
    func encode(
        sound: UnsafeBufferPointer<UInt8>, timestampMs: UInt32, into target: UnsafeMutableBufferPointer<UInt8>
    ) -> Int

    /// A text message for what no conversation says; nil if this dialect and role have no word for it.
    func encode(_ word: DialectWord) -> [UInt8]?
}

extension MediaStreamDialect {
    public static var conformance: DialectConformance { .none }
    public static func headers(of start: StreamStart) -> [(name: String, value: String)] { [] }
    public var track: MediaTrack {
        get { .inbound }
        set {}
    }
    public var results: [String: String] {
        get { [:] }
        set {}
    }
    public func encode(_ word: DialectWord) -> [UInt8]? { nil }
}

/// What the protocol says beside the conversation.
public enum DialectWord: Sendable, Equatable {
    case keepAlive
    /// No more sound for now, and go on.
    case pause, resume
    /// The stream is not let in, or given up; the socket closes next.
    case refused(StreamRefusal)
}

/// Why a stream is refused.
public enum StreamRefusal: Sendable, Equatable { case unauthorized, format, malformed }

/// What a dialect is made for.
public struct DialectOptions: Sendable {
    public var role: MediaStreamRole
    /// As carrier: the id to announce. As application it is learnt from `start`.
    public var streamID: String
    /// As carrier: what is streamed; an application takes `inbound` alone.
    public var tracks: [MediaTrack]
    /// As carrier: the format to announce, one of `DialectTraits.formats`; nil: the first.
    public var format: WireFormat?
    /// What the upgrade asked for: the far end's as application, ours as carrier.
    public var handshake: WebSocket.Handshake?
    /// As application: the order of linear sound's bytes, where the protocol leaves it open; nil: as the dialect
    /// presumes, or finds out.
    public var byteOrder: WireFormat.ByteOrder?

    public init(
        role: MediaStreamRole, streamID: String = "", tracks: [MediaTrack] = [.inbound], format: WireFormat? = nil,
        handshake: WebSocket.Handshake? = nil, byteOrder: WireFormat.ByteOrder? = nil
    ) {
        self.role = role
        self.streamID = streamID
        self.tracks = tracks
        self.format = format
        self.handshake = handshake
        self.byteOrder = byteOrder
    }
}

/// A message that cannot be understood; `reason` names the field, never its content.
public struct MediaStreamError: Error, Sendable, Equatable {
    public var reason: String
    /// The stream is given up at once, with the dialect's own words for this; nil: the message is left out.
    public var refusal: StreamRefusal?
    public init(_ reason: String, refusal: StreamRefusal? = nil) {
        self.reason = reason
        self.refusal = refusal
    }
}
