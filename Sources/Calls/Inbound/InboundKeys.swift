internal import Foundation
internal import Net
internal import Realtime
internal import Settings

extension InboundSettings {
    /// Questions, and characters of one.
    private static let questionLimit = 20
    private static let questionLength = 500

    @SettingsBuilder<Self> static var keys: [Setting<Self>] {
        Setting("enabled", \.isEnabled, .flag, "the AI answers calls that come in by SIP or a provider")
        Setting(
            "numbers", \.numbers, .list, "numbers it answers, of SIP and of providers",
            unset: "on loopback any, else none")
        Setting(
            "trusted_sources", \.trustedSources, sourcesForm, "addresses whose calls are taken",
            unset: "on loopback any, else none")
        Setting(
            "max_concurrent_calls", \.maxConcurrentCalls, .whole(1...10_000),
            "calls at once; more are told to try again")
        Setting("ring_ms", \.ringSeconds, ringForm, "how long it rings")
        Setting(
            "agent", \.agent, .text, "agent of numbers that have none: slug, or slug@version",
            unset: "the settings here")
        Setting("purpose", \.brief.purpose, .text, "what the AI is to do for callers")
        Setting(
            "greeting_template", \.brief.greetingTemplate, .orNone(.text), "first sentence; none: the AI's own")
        Setting("questions", \.brief.questions, questionsForm, "what is asked; none: nothing")
    }

    /// Beyond loopback, calls are taken only for numbers and from sources that are listed.
    public mutating func close() {
        numbers = numbers ?? []
        trustedSources = trustedSources ?? []
    }

    private static let ringForm = SettingForm<Double>.whole(0...60_000, .milliseconds)
        .mapped({ $0 / 1_000 }, back: { $0 * 1_000 })

    private static let sourcesForm = SettingForm<Set<String>>(
        "IPv4 addresses, comma-separated",
        parse: { text in
            let addresses = commaSeparated(text)
            for address in addresses where SocketAddress(address, port: 0) == nil {
                throw ConfigurationError("\(address) is no IPv4 address")
            }
            return Set(addresses)
        })

    private static let questionsForm = SettingForm<[Question]>(
        "at most \(questionLimit) texts of \(questionLength) characters, separated by |, or none",
        problem: "must be at most \(questionLimit) texts of \(questionLength) characters",
        format: { $0.isEmpty ? "none" : $0.map(\.text).joined(separator: " | ") },
        parse: { text in
            guard text != "none" else { return [] }
            let texts = text.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                .filter { !$0.isEmpty }
            guard texts.count <= questionLimit, texts.allSatisfy({ $0.count <= questionLength }) else { return nil }
            return texts.enumerated().map { Question(id: "q\($0 + 1)", text: $1) }
        })
}
