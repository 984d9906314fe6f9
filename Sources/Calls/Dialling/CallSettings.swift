public import Bridge
internal import Foundation
internal import Realtime

/// Settings of outbound calls; the configuration keys are named in `trunkline/Configuration.swift`.
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
    public var recordingsFolder = "recordings"
    public var routing = Routing()
    /// Addresses and ports of the RTP of our legs.
    public var rtpHost = "127.0.0.1"
    public var rtpPorts = PortRange(10_000...20_000)
    /// Where legs are streamed to instead of into this process, a `ws:` URL.
    public var streamURL: String?
    /// Told to the far end of such a stream.
    public var streamToken: String?
    public var conversation = CallGraph.Settings()
    /// A number or SIP address that calls are handed to.
    public var operatorNumber: String?
    /// Whether a callee's speech can be recognised in a language; else answers are taken by keypad.
    public var understands: @Sendable (_ language: String) -> Bool = { LanguageTag.primary($0) == "en" }
    public init() {}

    /// Of a call: its longest duration is its own.
    func conversation(of call: Call, canTransfer: Bool) -> CallGraph.Settings {
        var settings = conversation
        settings.maxDurationMs = min(call.maxDuration, maxCallDuration) * 1_000
        settings.canTransfer = canTransfer
        return settings
    }
}

/// Where a number leads.
public struct Routing: Sendable, Equatable {
    /// Who takes numbers.
    public enum Gateway: Sendable, Equatable {
        case sip(Trunk)
        case twilio
    }
    /// A SIP trunk.
    public struct Trunk: Sendable, Equatable {
        /// `host` or `host:port`.
        public var address: String
        public var credentials: Invitation.Credentials?
        public var outboundProxy: String?
        public init(address: String, credentials: Invitation.Credentials? = nil, outboundProxy: String? = nil) {
            self.address = address
            self.credentials = credentials
            self.outboundProxy = outboundProxy
        }
    }
    public var gateway: Gateway?
    /// Hosts a `sip:` callee may name; nil: loopback hosts while bound to loopback, else none.
    public var sipHosts: [String]?
    /// Numbers that may be shown to a callee; nil: any while bound to loopback, else none.
    public var allowedCallers: [String]?
    public var isBoundToLoopback = true
    public init() {}

    /// Never dialled, wherever they lead.
    static let emergencyNumbers: Set<String> = ["112", "119", "110", "911", "999", "000", "113", "117", "118", "101", "102", "103"]

    public struct Refusal: Error, Sendable, Equatable {
        public enum Code: String, Sendable {
            case noRoute = "no_route", invalid, callerNotAllowed = "caller_not_allowed", notSupportedYet = "not_supported_yet"
        }
        public var code: Code
        public var message: String
    }

    public enum Route: Sendable, Equatable {
        case sip(SIPRoute)
        /// To a number in E.164, by Twilio.
        case twilio(to: String)
    }
    public struct SIPRoute: Sendable, Equatable {
        public var requestURI: String
        public var proxy: String?
        public var credentials: Invitation.Credentials?
    }

    /// Digits of a number, `+` kept; nil if it is none (ITU-T E.164: at most 15 digits).
    public static func normalize(_ number: String) -> String? {
        let stripped = number.filter { !" -().\u{00A0}/".contains($0) }
        let digits = stripped.hasPrefix("+") ? stripped.dropFirst() : stripped[...]
        guard (3...15).contains(digits.count), digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return stripped
    }

    public func route(to callee: String) throws(Refusal) -> Route {
        if callee.lowercased().hasPrefix("browser:") {
            throw Refusal(code: .notSupportedYet, message: "calls to the browser are not supported yet")
        }
        if callee.lowercased().hasPrefix("sip:") || callee.lowercased().hasPrefix("sips:") {
            let (user, host) = try Self.sipParts(callee)
            let bare = host.split(separator: ":").first.map(String.init) ?? host
            let allowed = sipHosts.map { $0.contains(bare) || $0.contains(host) } ?? (isBoundToLoopback && Self.isLoopback(bare))
            guard allowed else {
                throw Refusal(code: .noRoute, message: "the host \(bare) is not in outbound.sip_hosts")
            }
            return .sip(SIPRoute(requestURI: "sip:\(user)@\(host)", proxy: nil, credentials: nil))
        }
        guard let number = Self.normalize(callee) else {
            throw Refusal(code: .invalid, message: "must be a number of 3 to 15 digits, or a sip: address")
        }
        guard !Self.emergencyNumbers.contains(number.filter(\.isNumber)) else {
            throw Refusal(code: .noRoute, message: "emergency numbers are never dialled")
        }
        switch gateway {
        case nil: throw Refusal(code: .noRoute, message: "no gateway is configured: set outbound.default_gateway, or call a sip: address")
        case .sip(let trunk):
            return .sip(SIPRoute(requestURI: "sip:\(number)@\(trunk.address)", proxy: trunk.outboundProxy, credentials: trunk.credentials))
        case .twilio:
            guard number.hasPrefix("+") else { throw Refusal(code: .noRoute, message: "Twilio wants the number in E.164, e.g. +821098765432") }
            return .twilio(to: number)
        }
    }

    /// - Parameter route: the callee's, where there is one.
    public func checkCaller(_ caller: String, for route: Route? = nil) throws(Refusal) {
        guard let normalized = Self.normalize(caller) else {
            throw Refusal(code: .invalid, message: "must be a number of 3 to 15 digits")
        }
        if case .twilio? = route, !normalized.hasPrefix("+") {
            throw Refusal(code: .invalid, message: "Twilio wants the number in E.164, e.g. +821098765432")
        }
        if let allowedCallers {
            guard allowedCallers.contains(where: { Self.normalize($0) == normalized }) else {
                throw Refusal(code: .callerNotAllowed, message: "the caller number is not on the whitelist (outbound.allowed_callers)")
            }
        } else if !isBoundToLoopback {
            throw Refusal(code: .callerNotAllowed, message: "no caller whitelist is set (outbound.allowed_callers)")
        }
    }

    static func isLoopback(_ host: String) -> Bool { host == "localhost" || host.hasPrefix("127.") }

    /// User and host[:port] of a SIP URI without parameters, headers or password.
    private static func sipParts(_ uri: String) throws(Refusal) -> (user: String, host: String) {
        let invalid = Refusal(code: .invalid, message: "is no sip: address of the form sip:user@host[:port]")
        guard uri.count <= 256, uri.lowercased().hasPrefix("sip:") else { throw invalid }
        let parts = uri.dropFirst(4).split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...64).contains(parts[0].count) else { throw invalid }
        let allowedInUser = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!~*'()&=+$,")
        guard parts[0].allSatisfy({ allowedInUser.contains($0) }) else { throw invalid }
        let host = parts[1].split(separator: ":", omittingEmptySubsequences: false)
        let allowedInHost = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.")
        guard (1...2).contains(host.count), (1...253).contains(host[0].count), host[0].allSatisfy({ allowedInHost.contains($0) }) else {
            throw invalid
        }
        if host.count == 2 { guard let port = UInt16(host[1]), port > 0 else { throw invalid } }
        return (String(parts[0]), String(parts[1]))
    }
}
