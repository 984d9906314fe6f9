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
                let data = try? Data(contentsOf: url),
                let texts = try? JSONDecoder().decode(PolicyTexts.self, from: data)
            else { continue }
            result[language] = texts
        }
        return result
    }()

    /// Reads the texts at the start: during a call the process may have no free file descriptor.
    static func load() { _ = all }

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

/// Announcements for calls whose conversation has ended.
public enum SpokenText {
    /// The text, and its language with a region as carriers' own voices want it.
    public static func nobodyAvailable(language: String) -> (text: String, locale: String) {
        let known = PolicyTexts.languages.contains(LanguageTag.primary(language)) ? LanguageTag.primary(language) : "en"
        return (PolicyTexts.of(known)("nobody_available"), ["ko": "ko-KR", "ru": "ru-RU"][known] ?? "en-US")
    }

    /// The briefing of an operator before a transfer.
    public static func briefing(
        number: String, purpose: String?, answers: [(question: String, answer: String)], lastWords: String?,
        language: String
    ) -> [String] {
        let texts = PolicyTexts.of(language)
        var lines = [texts("briefing")]
        if !number.isEmpty { lines.append(texts("briefing_from", ["number": number])) }
        if let purpose { lines.append(texts("briefing_purpose", ["purpose": purpose])) }
        for answer in answers {
            lines.append(texts("briefing_answer", ["question": answer.question, "answer": answer.answer]))
        }
        if let lastWords { lines.append(texts("briefing_last", ["words": lastWords])) }
        return lines + [texts("briefing_end")]
    }

    /// The greeting of callers who cannot reach an operator.
    public static func away(operator name: String, language: String) -> String {
        PolicyTexts.of(language)("operator_away", ["operator": name])
    }
}

/// The parts of BCP 47 tags that are used here.
public enum LanguageTag {
    /// `ko` of `ko-KR`.
    public static func primary(_ tag: String) -> String {
        tag.split(separator: "-").first.map { $0.lowercased() } ?? "en"
    }

    /// Characters of a tag (RFC 5646 §4.4.1).
    public static let lengthLimit = 35

    /// The `langtag` of BCP 47 (RFC 5646 §2.1): language of 2 or 3 letters, up to 3 extended languages, script, region,
    /// variants, extensions, private use. Neither reserved languages of 4 and more letters nor grandfathered tags: no
    /// engine speaks them.
    public static func isWellFormed(_ tag: String) -> Bool {
        guard (2...lengthLimit).contains(tag.utf8.count) else { return false }
        var parts = tag.lowercased().split(separator: "-", omittingEmptySubsequences: false)[...]
        guard
            parts.allSatisfy({ (1...8).contains($0.utf8.count) && $0.utf8.allSatisfy { isLetter($0) || isDigit($0) } })
        else { return false }
        func take(_ isWanted: (Substring.UTF8View) -> Bool) -> Bool {
            guard let part = parts.first, isWanted(part.utf8) else { return false }
            parts.removeFirst()
            return true
        }
        func isWord(_ part: Substring.UTF8View, _ lengths: ClosedRange<Int>) -> Bool {
            lengths.contains(part.count) && part.allSatisfy(isLetter)
        }
        guard take({ isWord($0, 2...3) }) else { return false }
        for _ in 0..<3 where !take({ isWord($0, 3...3) }) { break }
        _ = take { isWord($0, 4...4) }
        _ = take { isWord($0, 2...2) || $0.count == 3 && $0.allSatisfy(isDigit) }
        var variants: Set<Substring> = []
        while let part = parts.first,
            (5...8).contains(part.utf8.count) || part.utf8.count == 4 && part.utf8.first.map(isDigit) == true
        {
            guard variants.insert(part).inserted else { return false }
            parts.removeFirst()
        }
        var singletons: Set<Substring> = []
        while let part = parts.first, part.utf8.count == 1, part != "x" {
            guard singletons.insert(part).inserted else { return false }
            parts.removeFirst()
            guard take({ $0.count >= 2 }) else { return false }
            while take({ $0.count >= 2 }) {}
        }
        guard parts.first == "x" else { return parts.isEmpty }
        return parts.count >= 2
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

/// Where this target's resources lie, in the build folder or beside an installed executable.
enum ResourceFolder {
    static let url: URL? = {
        let beside = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let candidates = [
            beside.appendingPathComponent("trunkline_Realtime.resources/Resources"),
            beside.appendingPathComponent("../share/trunkline/Resources"),
        ]
        if let found = candidates.first(where: { FileManager.default.fileExists(atPath: $0.path) }) { return found }
        // For tests. `Bundle.module` ends the process if it finds no bundle, so it is tried last.
        let module = Bundle.module.bundleURL.appendingPathComponent("Resources")
        return FileManager.default.fileExists(atPath: module.path) ? module : nil
    }()
}
