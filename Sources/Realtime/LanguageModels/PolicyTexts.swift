internal import Foundation

/// What the embedded policy says and understands in one language: `Resources/texts/LANGUAGE.json`.
struct PolicyTexts: Sendable, Decodable {
    var texts: [String: String]
    var patterns: [String: [String]]

    /// Languages there are texts for, by their primary subtag.
    static let languages = ["en", "ko", "ru"]

    private static let all: [String: PolicyTexts] = {
        var result: [String: PolicyTexts] = [:]
        for language in languages {
            guard let url = ResourceFolder.url?.appendingPathComponent("texts/\(language).json"),
                let data = try? Data(contentsOf: url), let texts = try? JSONDecoder().decode(PolicyTexts.self, from: data)
            else { continue }
            result[language] = texts
        }
        return result
    }()

    /// The texts of a language, e.g. `ko` for `ko-KR`; English where there are none.
    static func of(_ language: String) -> PolicyTexts {
        all[LanguageTag.primary(language)] ?? all["en"] ?? PolicyTexts(texts: [:], patterns: [:])
    }

    func callAsFunction(_ key: String, _ values: [String: String] = [:]) -> String {
        PolicyTexts.fill(texts[key] ?? "", values)
    }

    /// Replaces `{name}`; a value is inserted as it is and not looked into again.
    static func fill(_ template: String, _ values: [String: String]) -> String {
        var result = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{") {
            result += rest[..<open]
            let behind = rest[rest.index(after: open)...]
            guard let close = behind.firstIndex(of: "}") else {
                rest = rest[open...]
                break
            }
            result += values[String(behind[..<close])] ?? String(rest[open...close])
            rest = behind[behind.index(after: close)...]
        }
        return result + rest
    }
}

/// What is said where no conversation is held any more.
public enum SpokenText {
    /// The text, and its language with a region as carriers' own voices want it.
    public static func nobodyAvailable(language: String) -> (text: String, locale: String) {
        let known = PolicyTexts.languages.contains(LanguageTag.primary(language)) ? LanguageTag.primary(language) : "en"
        return (PolicyTexts.of(known)("nobody_available"), ["ko": "ko-KR", "ru": "ru-RU"][known] ?? "en-US")
    }

    /// What a person is told before a caller is put through to him.
    public static func briefing(
        number: String, purpose: String?, answers: [(question: String, answer: String)], lastWords: String?, language: String
    ) -> [String] {
        let texts = PolicyTexts.of(language)
        var lines = [texts("briefing")]
        if !number.isEmpty { lines.append(texts("briefing_from", ["number": number])) }
        if let purpose { lines.append(texts("briefing_purpose", ["purpose": purpose])) }
        for answer in answers { lines.append(texts("briefing_answer", ["question": answer.question, "answer": answer.answer])) }
        if let lastWords { lines.append(texts("briefing_last", ["words": lastWords])) }
        return lines + [texts("briefing_end")]
    }

    /// How callers are greeted who cannot reach an operator.
    public static func away(operator name: String, language: String) -> String {
        PolicyTexts.of(language)("operator_away", ["operator": name])
    }
}

/// BCP 47 tags, as far as we look into them.
public enum LanguageTag {
    /// `ko` of `ko-KR`.
    public static func primary(_ tag: String) -> String {
        tag.split(separator: "-").first.map { $0.lowercased() } ?? "en"
    }

    /// Letters, digits and hyphens, 2–35 characters, subtags of at most 8 (RFC 5646 §2.1).
    public static func isWellFormed(_ tag: String) -> Bool {
        let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
        guard (2...35).contains(tag.count), let first = parts.first, (2...3).contains(first.count) else { return false }
        return first.allSatisfy { $0.isASCII && $0.isLetter }
            && parts.allSatisfy { (1...8).contains($0.count) && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } }
    }
}

/// Where this target's resources lie, in the build folder or beside an installed executable.
enum ResourceFolder {
    static let url: URL? = {
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let candidates = [
            beside.appendingPathComponent("trunkline_Realtime.resources/Resources"),
            beside.appendingPathComponent("../share/trunkline/Resources"),
            Bundle.module.bundleURL.appendingPathComponent("Resources"),
        ]
        return candidates.first { FileManager.default.fileExists(atPath: $0.path) }
    }()
}
