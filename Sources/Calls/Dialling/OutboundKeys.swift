internal import Bridge
internal import Foundation
internal import Net
internal import Realtime
public import Settings
internal import Store

extension CallSettings {
    @SettingsBuilder<Self> public static var keys: [Setting<Self>] {
        Setting(
            "rtp.ports", \.rtpPorts, .portRange, "UDP ports for RTP")
        Setting(
            "sip.srtp", \.srtp, .choice,
            "auto: SRTP where the signalling is TLS; required: always; off: only where it is offered")
        Setting("outbound.enabled", \.isEnabled, .flag, "dial at all")
        Setting("outbound.max_concurrent_calls", \.maxConcurrentCalls, .whole(1...10_000), "calls at once")
        Setting("outbound.ring_timeout", \.ringTimeout, .whole(1...600, .seconds), "from INVITE to CANCEL")
        Setting(
            "outbound.max_call_duration", \.maxCallDuration, .whole(10...3_600, .seconds), "longest a call may last")
        Setting(
            "outbound.priority_ageing", \.priorityAgeing, .whole(1...86_400, .seconds),
            "waiting that raises the priority by one")
        Setting(
            "outbound.caller_number", \.callerNumber, .phoneNumber,
            "shown for calls of POST /receive, which names none",
            unset: "none")
        Routing.keys.under(\.policy.routing)
        DiallingPolicy.keys.under(\.policy)
        Retry.keys.under(\.retry, "outbound.retry")
        Setting(
            "outbound.ai.greeting_template", \.greetingTemplate, .text,
            "first sentence; {caller} and {purpose} are filled in", unset: "the AI's own")
        Setting("outbound.ai.closing_template", \.closingTemplate, .text, "last sentence", unset: "the AI's own")
        VoicemailPolicy.keys.under(\.voicemail, "outbound.ai")
        Setting("outbound.ai.max_turns", \.maxTurns, .whole(1...200), "AI turns a call")
        Setting(
            "outbound.ai.task_completion_check", \.endsWhenSettled, .onlyTrue,
            "end the call when every question is settled")
        InboundSettings.keys.under(\.inbound, "inbound")
        operatorKeys
        resultKeys
        PriceList.keys.under(\.prices, "costs")
        Setting("agent.language", \.language, .languageTag, "BCP 47 language of conversations")
        CallGraph.Settings.keys.under(\.conversation)
        BridgeSettings.keys.under(\.bridge)
    }

    /// Calls end when every question is settled: there is no other way yet, and a file may say so.
    private var endsWhenSettled: Bool {
        get { true }
        set {}
    }
}

extension CallSettings.Retry {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("enabled", \.isEnabled, .flag, "dial again after no answer")
        Setting("max_retries", \.maxRetries, .whole(0...10), "attempts after the first")
        Setting("retry_interval", \.interval, .whole(0...86_400, .seconds), "from one attempt to the next")
        Setting(
            "retry_on", \.retryOn, .set(of: [.noAnswer, .busy, .rejected, .failed]), "ends after which we dial again")
    }
}

extension Routing {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting(
            "sip.follow_redirects", \.followsRedirects, .flag,
            "follow 3xx to hosts that are called anyway; opens a way to toll fraud")
        Setting(
            "sip.number_format", \.numberFormat, .choice, "the number in the Request-URI")
        Setting(
            "outbound.allowed_callers", \.allowedCallers, .list(of: .phoneNumber), "caller numbers that may be shown",
            unset: "on loopback any, else none")
        Setting(
            "outbound.sip_hosts", \.sipHosts, .list, "hosts that a sip: callee may name",
            unset: "on loopback this machine, else none")
        Setting("outbound.country", \.plan.home, .country, "where national numbers belong, ISO 3166-1")
        Setting(
            "outbound.allowed_prefixes", \.allowedPrefixes, .list(of: .prefix),
            "beginnings of numbers that may be dialled, in E.164", unset: "any")
    }
}

extension DiallingPolicy {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("outbound.calling_hours", \.callingHours, .callingHours, "when people are called", unset: "at any time")
        Setting(
            "outbound.calling_hours_zone", \.hoursZone, .calleeOrZone,
            "whose time the calling hours are; callee: by the number's country")
        Setting(
            "outbound.time_zone", \.homeZone, .timeZone,
            "where a day begins, and of callees whose number tells no country", unset: "the system's")
        Setting(
            "outbound.daily_cap", \.dailyCap, .whole(1...1_000_000), "calls a day that show one caller number",
            unset: "any number")
        Setting(
            "outbound.duplicate_window", \.duplicateWindow, .whole(0...windowLimit, .seconds),
            "between two calls to one callee; 0: only not at once")
        Setting("outbound.calls_per_second", \.callsPerSecond, .decimal(0...1_000), "dials begun; 0: any number")
    }
}

extension VoicemailPolicy {
    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting(
            "voicemail_message", \.message, .text, "left on an answering machine after its beep",
            unset: "the call is ended")
        Setting(
            "voicemail", \.action, .choice, "what is done when an answering machine has the call",
            unset: "leave_message where there is a message, else hang_up")
    }

    /// What is missing; nil: nothing.
    public func problem() -> String? {
        action == .leaveMessage && message == nil
            ? "outbound.ai.voicemail is leave_message: set outbound.ai.voicemail_message" : nil
    }
}

// MARK: Forms

extension SettingForm where Value == Bool {
    fileprivate static var onlyTrue: SettingForm {
        SettingForm("true", format: { $0 ? "true" : "false" }) { text in
            guard try flag.read(text) else { throw ConfigurationError("false is not supported yet") }
            return true
        }
    }
}

extension SettingForm where Value == PortRange {
    fileprivate static var portRange: SettingForm {
        SettingForm(
            "LOW-HIGH", problem: "must be LOW-HIGH, e.g. 10000-20000",
            format: { "\($0.ports.lowerBound)-\($0.ports.upperBound)" },
            parse: { text in
                let parts = text.split(separator: "-").compactMap { UInt16($0.trimmingCharacters(in: .whitespaces)) }
                guard parts.count == 2, parts[0] < parts[1] else { return nil }
                return PortRange(parts[0]...parts[1])
            })
    }
}

extension SettingForm where Value == CallingHours {
    fileprivate static var callingHours: SettingForm {
        SettingForm(
            "09:00-20:00, mon-fri 09:00-20:00", problem: "must be like 09:00-20:00 or mon-fri 09:00-20:00",
            parse: { CallingHours($0) })
    }
}

extension SettingForm where Value == TimeZone {
    fileprivate static var timeZone: SettingForm {
        SettingForm("a time zone, e.g. Asia/Seoul", format: { $0.identifier }) { text in
            guard let zone = TimeZone(identifier: text) else {
                throw ConfigurationError("must be a time zone such as Asia/Seoul, not \(text)")
            }
            return zone
        }
    }
}

extension SettingForm where Value == TimeZone? {
    /// nil: the callee's.
    fileprivate static var calleeOrZone: SettingForm {
        let zone = SettingForm<TimeZone>.timeZone
        return SettingForm("callee, or " + zone.allowed, format: { $0?.identifier ?? "callee" }) { text in
            text == "callee" ? nil : try zone.read(text)
        }
    }
}

extension SettingForm where Value == String {
    /// As it was written.
    static var phoneNumber: SettingForm {
        SettingForm(
            "3 to 15 digits", problem: "must be a number of 3 to 15 digits", format: { $0 },
            parse: { Routing.normalize($0) == nil ? nil : $0 })
    }

    fileprivate static var prefix: SettingForm {
        SettingForm(
            "+ and digits", problem: "must begin with + and a country code", format: { $0 },
            parse: { $0.hasPrefix("+") && $0.dropFirst().allSatisfy { $0.isASCII && $0.isNumber } ? $0 : nil })
    }

    fileprivate static var country: SettingForm {
        let names = NumberingPlan.countries.map(\.name)
        let list = names.joined(separator: ", ")
        return SettingForm(
            list, problem: "must be one of \(list)", format: { $0 },
            parse: { names.contains($0.uppercased()) ? $0.uppercased() : nil })
    }

    fileprivate static var languageTag: SettingForm {
        SettingForm(
            "a BCP 47 tag, e.g. ko", problem: "must be a BCP 47 tag", format: { $0 },
            parse: { LanguageTag.isWellFormed($0) ? $0 : nil })
    }
}
