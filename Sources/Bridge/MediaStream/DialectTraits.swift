internal import Foundation
public import Net

/// What a dialect is, whatever the stream: told once, by its type.
public struct DialectTraits: Sendable {
    /// In `bridge.stream_dialect` and in records: lower case.
    public var name: String
    /// Paths at which a carrier streams to us; the first is the one we tell it.
    public var paths: [String]
    /// WebSocket subprotocols that we agree to.
    public var subprotocols: [String] = []
    /// Messages that the far end may send; others are malformed.
    public var accepts: Set<WebSocket.Kind>
    /// In which messages sound is sent. All else is text.
    public var soundKind: WebSocket.Kind
    /// Formats that can be spoken, best first.
    public var formats: [WireFormat]
    public var marks = MarkSupport.echoed(afterClear: true)
    public var keepAlive = KeepAlive.socket
    public var ending = Ending.closing
    /// As carrier: an application confirms our `stop` (`DialectInbox.confirmEnd`), and is given so many milliseconds
    /// before we close; nil: we close at once.
    public var confirmationLimitMs: UInt64?
    /// An application answers `start`, and takes no sound before.
    public var answersStart = false
    /// The protocol says nothing of the order of linear sound's bytes: `formats` has what is presumed.
    public var leavesByteOrderOpen = false
    /// Where a token may stand that lets a stream in, in the order in which they are looked at. The first is where we
    /// put ours as a client.
    public var tokens: [TokenPlace] = [.parameter("token")]
    /// Header of an upgrade that the carrier has signed; what it is worth is the carrier's to check.
    public var signatureHeader: String?
    /// Where a signed upgrade names the key that it is signed with: that is no token then.
    public var keyPlace: TokenPlace?
    /// As carrier: the headers by which an upgrade is signed with a secret; none: the secret is none of this carrier's,
    /// or its key is missing. nil: the carrier signs no upgrades.
    public var sign: (@Sendable (SignedUpgrade, _ secret: String) -> [(name: String, value: String)])?
    /// Bytes of the far end's largest message.
    public var largestMessage = 64 << 10

    public init(
        name: String, paths: [String], accepts: Set<WebSocket.Kind>, soundKind: WebSocket.Kind, formats: [WireFormat]
    ) {
        self.name = name
        self.paths = paths
        self.accepts = accepts
        self.soundKind = soundKind
        self.formats = formats
    }

    /// The token that lets a stream in; nil: it has none.
    public func token(in start: StreamStart, of handshake: WebSocket.Handshake, isSigned: Bool) -> String? {
        tokens.lazy.filter { !isSigned || $0 != keyPlace }.compactMap { $0.token(in: start, of: handshake) }.first
    }

    /// Whether marks come back.
    public enum MarkSupport: Sendable, Equatable {
        /// They do when they have been played; and, or not, when `clear` has dropped what was before them.
        case echoed(afterClear: Bool)
        /// There are none: they come back by our own clock.
        case none
        /// There are none, but the far end says when it begins to play and when it has played all
        /// (`DialectInbox.playing`): our clock starts with that. It is waited for so long, in milliseconds.
        case playback(limitMs: UInt64)
    }

    public enum KeepAlive: Sendable, Equatable {
        /// The pings of the WebSocket are enough.
        case socket
        /// We say `DialectWord.keepAlive` so often, in milliseconds.
        case word(everyMs: UInt64)
    }

    /// How an application ends a stream.
    public enum Ending: Sendable, Equatable {
        /// By closing the socket.
        case closing
        /// By saying `stop`; the far end closes, and is given so long, in milliseconds.
        case asking(limitMs: UInt64)
    }
}

/// Where a token stands that lets a stream in.
public enum TokenPlace: Sendable, Equatable {
    /// Among the parameters of `start`.
    case parameter(String)
    /// In a header of the upgrade, lower case.
    case header(String)
    /// In the query of the upgrade.
    case query(String)
    /// `Authorization: Bearer` of the upgrade.
    case bearer
    /// The password of `Authorization: Basic` of the upgrade (RFC 7617).
    case basic

    /// The token that stands there.
    public func token(in start: StreamStart, of handshake: WebSocket.Handshake) -> String? {
        switch self {
        case .parameter(let name): start.parameters[name]
        case .header(let name): handshake.headers[name]
        case .query(let name): handshake.query.first { $0.name == name }?.value
        case .bearer: Self.credentials("Bearer ", handshake)
        case .basic:
            Self.credentials("Basic ", handshake).flatMap { Data(base64Encoded: $0) }.flatMap { data in
                data.firstIndex(of: UInt8(ascii: ":")).map { String(decoding: data[($0 + 1)...], as: UTF8.self) }
            }
        }
    }

    private static func credentials(_ scheme: String, _ handshake: WebSocket.Handshake) -> String? {
        guard let given = handshake.headers["authorization"],
            given.prefix(scheme.count).lowercased() == scheme.lowercased()
        else { return nil }
        return String(given.dropFirst(scheme.count))
    }

    /// Puts a token there, as a client; the user of `basic` is `token`.
    public func put(
        _ token: String, parameters: inout [String: String], headers: inout [(String, String)],
        query: inout [(name: String, value: String)]
    ) {
        switch self {
        case .parameter(let name): parameters[name] = token
        case .header(let name): headers.append((name, token))
        case .query(let name): query.append((name, token))
        case .bearer: headers.append(("authorization", "Bearer " + token))
        case .basic: headers.append(("authorization", "Basic " + Data(("token:" + token).utf8).base64EncodedString()))
        }
    }
}
