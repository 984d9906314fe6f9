internal import Bridge
internal import Foundation
internal import Net
public import Settings

/// Settings of SIP legs that are streamed to another server, which holds the conversation.
public struct BridgeSettings: Sendable {
    /// Where legs are streamed to, a `ws:` or `wss:` URL; nil: nowhere, unless a call has a stream of its own.
    public var streamURL: String?
    /// Name of the dialect of such a stream (`Dialects`).
    public var streamDialect = Dialects.standard.traits.name
    /// Format of the sound that is announced, as `WireFormat.name`; nil: the dialect's best.
    public var streamFormat: String?
    /// Told to the far end of `streamURL`, never to that of a call's own stream.
    public var streamToken: String?
    /// Signs the upgrade to `streamURL`, as the dialect's carrier does; nil: it is not signed.
    public var streamSecret: String?
    /// Streams of calls' own may lead into our own network.
    public var allowsPrivateAddresses = false
    /// The action when the server cannot be reached, or is lost.
    public var fallback = Fallback.hangup
    /// Said to the caller before the call is hung up; empty: nothing.
    public var failureMessage = ""

    public enum Fallback: String, Sendable, CaseIterable {
        case hangup
        /// Our own conversation takes the call over, with its brief.
        case agent
    }

    public init() {}

    /// Characters of the failure message.
    static let messageLimit = 500

    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "bridge.stream_url", \.streamURL, .webSocketText(withQuery: true),
            "stream SIP legs to this server instead of into this process", unset: "none")
        Setting(
            "bridge.stream_dialect", \.streamDialect, dialectForm,
            "dialect that is spoken there, as /media/NAME is spoken here")
        Setting(
            "bridge.stream_format", \.streamFormat, .text,
            "sound that is sent there, e.g. mulaw/8000, alaw/8000 or l16/16000", unset: "the dialect's best")
        Setting(
            "bridge.stream_secret", \.streamSecret, .text,
            "signs the upgrade there, where the dialect's carrier signs its own", unset: "none", isSecret: true)
        Setting(
            "bridge.stream_allow_private", \.allowsPrivateAddresses, .flag,
            "streams that calls bring with them may lead into our own network")
        Setting("bridge.fallback", \.fallback, .choice, "what is done when that server cannot be had, or is lost")
        Setting(
            "bridge.failure_message", \.failureMessage, .text,
            "said to the caller before the call is hung up for that; empty: nothing")
    }

    /// Its printed text lists no names, so that a new dialect changes no generated file.
    private static let dialectForm = SettingForm<String>(
        "name of a dialect", problem: "must be one of \(Dialects.names.joined(separator: ", "))", format: { $0 },
        parse: { Dialects.named($0).map { $0.traits.name } })

    var dialect: any MediaStreamDialect.Type { Dialects.named(streamDialect) ?? Dialects.standard }

    /// What does not go together; nil: nothing.
    public func problem() -> String? {
        if failureMessage.count > Self.messageLimit {
            return "bridge.failure_message is longer than \(Self.messageLimit) characters"
        }
        if let parts = streamURL.flatMap({ URLComponents(string: $0) }), parts.user != nil || parts.password != nil {
            return "bridge.stream_url must not hold a user name or password: bridge.stream_token goes where "
                + "\(streamDialect) has its token"
        }
        if let streamSecret {
            guard dialect.traits.sign != nil else {
                return "bridge.stream_secret is set, but \(streamDialect) signs no upgrades"
            }
            guard let url = streamURL.flatMap({ WebSocketURL($0) }) else {
                return "bridge.stream_secret is set, but bridge.stream_url is not"
            }
            guard dialect.canSign(url, token: streamToken, secret: streamSecret) else {
                return "bridge.stream_secret is none of \(streamDialect)'s, or bridge.stream_token is missing"
            }
        }
        guard let streamFormat, dialect.traits.format(named: streamFormat) == nil else { return nil }
        return "bridge.stream_format is \(streamFormat), but \(streamDialect) has only "
            + dialect.traits.formatNames.joined(separator: ", ")
    }
}
