internal import Net
internal import Pipeline

/// What a dialect tells of the messages that it decodes. One a stream, confined to its loop.
///
/// Sound is told in the wire's own format and becomes frames here.
public final class DialectInbox {
    /// Answers of the protocol that one message may ask for: where marks are given back at once, each is one.
    static let replyLimit = 32

    public private(set) var terms: WireTerms
    private var reader: SoundReader
    private var news = WireNews()
    private(set) var replies: [[UInt8]] = []
    /// The far end takes no more sound for now.
    private(set) var isPaused = false
    /// The far end has nothing more to say.
    private(set) var isEndConfirmed = false
    /// The far end has said that something went wrong.
    private(set) var hasFailed = false
    /// Whom the far end wants the caller handed to, until the stream has taken it.
    private var transfer: String?
    /// What the far end says of its playing, until the stream has taken it.
    private var playing: Bool?
    /// When the message came that is decoded, ms of the loop.
    public internal(set) var timeMs: UInt64 = 0
    /// Counts `agree`.
    private(set) var agreements = 0
    /// A consumer takes sound that is wider than a frame's; see `MediaStream.onWideSound`.
    var isWideHeard: Bool {
        get { news.isWideHeard }
        set { news.isWideHeard = newValue }
    }

    /// - Throws: for a format that cannot be converted.
    public init(_ terms: WireTerms) throws(MediaStreamError) {
        self.terms = terms
        reader = try SoundReader(terms.incoming)
    }

    // MARK: What a dialect tells

    public func say(_ message: MediaStreamMessage) { news.messages.append(message) }

    /// Sound in `WireTerms.incoming`, of any length: samples and frames may be cut anywhere.
    ///
    /// - Parameter timestampMs: of its first sample, since the stream began; nil: it follows what came before.
    public func sound(_ bytes: UnsafeBufferPointer<UInt8>, timestampMs: UInt32? = nil) throws(MediaStreamError) {
        guard bytes.count <= terms.incoming.bytes(ofMs: terms.longestMs) else { throw tooLong }
        try reader.read(bytes, timestampMs: timestampMs, into: &news)
    }

    private var tooLong: MediaStreamError { MediaStreamError("a message has more than \(terms.longestMs) ms of sound") }

    /// The same in Base64, as a JSON string holds it.
    public func sound(
        base64 text: UnsafeBufferPointer<UInt8>, hasEscapes: Bool, timestampMs: UInt32? = nil
    ) throws(MediaStreamError) {
        try withSound(base64: text, hasEscapes: hasEscapes) { (bytes) throws(MediaStreamError) in
            try sound(UnsafeBufferPointer(bytes), timestampMs: timestampMs)
        }
    }

    /// The bytes of sound in Base64, for a dialect that looks at them or changes them before it tells them.
    public func withSound(
        base64 text: UnsafeBufferPointer<UInt8>, hasEscapes: Bool,
        _ body: (UnsafeMutableBufferPointer<UInt8>) throws(MediaStreamError) -> Void
    ) throws(MediaStreamError) {
        guard text.count <= 2 * Base64.encodedLength(terms.incoming.bytes(ofMs: terms.longestMs)) else { throw tooLong }
        var failure: MediaStreamError?
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count) { buffer in
            let length = hasEscapes ? Self.unescape(text, into: buffer) : nil
            let plain = length.map { UnsafeBufferPointer(rebasing: buffer[..<$0]) } ?? text
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: plain.count / 4 * 3 + 3) { decoded in
                guard let count = Base64.decode(plain, into: decoded) else {
                    return failure = MediaStreamError("the sound is not base64")
                }
                do throws(MediaStreamError) {
                    guard count <= terms.incoming.bytes(ofMs: terms.longestMs) else { throw tooLong }
                    try body(UnsafeMutableBufferPointer(rebasing: decoded[..<count]))
                } catch { failure = error }
            }
        }
        if let failure { throw failure }
    }

    /// Base64 may be written with `\/` for `/`; nothing else in it has an escape.
    private static func unescape(_ text: UnsafeBufferPointer<UInt8>, into target: UnsafeMutableBufferPointer<UInt8>)
        -> Int
    {
        var count = 0
        for byte in text where byte != UInt8(ascii: "\\") {
            target[count] = byte
            count += 1
        }
        return count
    }

    /// The handshake has settled what is on the wire from now on.
    ///
    /// - Throws: for a format that cannot be converted.
    public func agree(_ terms: WireTerms) throws(MediaStreamError) {
        guard terms != self.terms else { return }
        guard terms.outgoing.isSupported else { throw SoundReader.unsupported }
        if terms.incoming != self.terms.incoming { reader = try SoundReader(terms.incoming) }
        self.terms = terms
        agreements += 1
    }

    /// The far end takes no more sound for now, or takes it again.
    public func pause(_ isPaused: Bool) { self.isPaused = isPaused }

    /// The far end has begun to play what it was sent; or it has played all of it (`MarkSupport.playback`).
    public func playing(_ isPlaying: Bool) { playing = isPlaying }

    /// As carrier: the far end gives the call up because something went wrong there.
    public func fail() { hasFailed = true }

    /// As carrier: the far end has confirmed our `stop`.
    public func confirmEnd() { isEndConfirmed = true }

    /// As carrier: the far end wants the caller handed to a number or `sip:` address.
    public func transfer(to target: String) { transfer = target }

    /// A text message that the protocol wants in return, at once.
    public func reply(_ text: [UInt8]) {
        if replies.count < Self.replyLimit { replies.append(text) }
    }

    // MARK: What the stream takes

    /// What has been said, in order; to be given back afterwards, so that its storage is used again.
    public func take() -> [MediaStreamMessage] {
        var taken: [MediaStreamMessage] = []
        swap(&taken, &news.messages)
        return taken
    }

    public func giveBack(_ taken: inout [MediaStreamMessage]) {
        guard news.messages.isEmpty, news.messages.capacity < taken.capacity else { return }
        taken.removeAll(keepingCapacity: true)
        swap(&taken, &news.messages)
    }

    var hasWide: Bool { !news.wide.isEmpty }

    /// The wide sound of the frames among them, by their places; to be given back likewise.
    func takeWide() -> [(place: Int, sound: AudioFrame)] {
        var taken: [(place: Int, sound: AudioFrame)] = []
        swap(&taken, &news.wide)
        return taken
    }

    func giveBack(wide taken: inout [(place: Int, sound: AudioFrame)]) {
        guard news.wide.isEmpty, news.wide.capacity < taken.capacity else { return }
        taken.removeAll(keepingCapacity: true)
        swap(&taken, &news.wide)
    }

    /// A message was refused: what it said before it was is forgotten.
    func forget() {
        news.messages.removeAll(keepingCapacity: true)
        news.wide.removeAll(keepingCapacity: true)
    }

    func takePlaying() -> Bool? {
        defer { playing = nil }
        return playing
    }

    func takeTransfer() -> String? {
        defer { transfer = nil }
        return transfer
    }

    func takeReplies() -> [[UInt8]] {
        defer { replies = [] }
        return replies
    }
}
