public import Bridge
internal import Foundation
public import Realtime
public import Store

/// Settings of calls; their configuration keys are declared in `OutboundKeys.swift`.
public struct CallSettings: Sendable {
    public struct Retry: Sendable, Equatable {
        public var isEnabled = true
        public var maxRetries = 2
        /// Seconds between attempts.
        public var interval: Double = 300
        public var retryOn: Set<CallState> = [.noAnswer, .busy]
        public init() {}
    }
    public var isEnabled = true
    public var maxConcurrentCalls = 5
    /// Seconds from INVITE to CANCEL.
    public var ringTimeout: Double = 30
    /// Seconds; longer requests are lowered to this.
    public var maxCallDuration = 300
    public var retry = Retry()
    /// Seconds of waiting that raise a call's priority by one.
    public var priorityAgeing: Double = 600
    public var maxTurns = 20
    public var greetingTemplate: String?
    public var closingTemplate: String?
    public var language = "en"
    public var savesRecording = true
    public var savesTranscript = true
    public var generatesSummary = true
    public var prices = PriceList()
    public var voicemail = VoicemailPolicy()
    public var inbound = InboundSettings()
    public var recordingsFolder = "recordings"
    public var policy = DiallingPolicy()
    public var routing: Routing {
        get { policy.routing }
        set { policy.routing = newValue }
    }
    /// Addresses and ports of the RTP of our legs.
    public var rtpHost = "127.0.0.1"
    public var rtpPorts = PortRange(10_000...20_000)
    public var srtp = SRTPPolicy.auto

    /// When media are encrypted (SDES, whose keys stand in the signalling).
    public enum SRTPPolicy: String, Sendable, CaseIterable {
        /// Where the signalling is TLS.
        case auto
        /// Always; calls without are refused.
        case required
        /// Only where the far end offers it.
        case off

        func isOffered(over isSecureSignalling: Bool) -> Bool {
            self == .required || self == .auto && isSecureSignalling
        }
    }

    public var bridge = BridgeSettings()
    public var conversation = CallGraph.Settings()
    /// Shown where a request names no caller (`POST /receive`).
    public var callerNumber: String?
    /// A number or SIP address that calls are handed to.
    public var operatorNumber: String?
    public var transferMode = TransferMode.attended

    /// How callers are transferred unless the request says otherwise.
    public enum TransferMode: String, Sendable, CaseIterable {
        /// We ring, tell what it is about, and join the two (RFC 3725).
        case attended
        /// The caller's telephone is asked to call (REFER, RFC 3515).
        case blind
    }
    /// How a call can be held in a language.
    public var support: @Sendable (_ language: String) -> LanguageSupport = {
        LanguageTag.primary($0) == "en" ? .understood : .keypad
    }
    public init() {}

    /// As they are for a company: the configuration's numbers and prompts are `default`'s, and nobody else's.
    /// - Parameter company: nil: `default`.
    public func of(_ company: Company?) -> CallSettings {
        guard let company else { return self }
        var settings = self
        settings.greetingTemplate = nil
        settings.closingTemplate = nil
        settings.callerNumber = nil
        settings.operatorNumber = nil
        settings.voicemail = VoicemailPolicy()
        settings.inbound.brief = InboundSettings.messageTaking
        settings.routing.allowedCallers = company.allowedCallers
        if let zone = company.timeZone.flatMap({ TimeZone(identifier: $0) }) { settings.policy.homeZone = zone }
        return settings
    }
}
