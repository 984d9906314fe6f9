import Bridge
import Foundation

/// A report of a check as text and as JSON.
enum CheckText {
    private static let verdictWidth = 8
    private static let nameWidth = 18

    static func list(_ rules: [ConformanceRule]) -> String {
        rules.map { rule in
            let name = rule.name.padding(toLength: max(nameWidth, rule.name.count), withPad: " ", startingAt: 0)
            return "\(name)  \(rule.text)\n\(indent(nameWidth))\(rule.source)\n"
        }.joined()
    }

    static func plain(_ report: CheckReport) -> String {
        var text = ""
        for row in report.rows {
            let verdict = row.finding.verdict.rawValue.padding(toLength: verdictWidth, withPad: " ", startingAt: 0)
            let width = max(nameWidth, row.rule.name.count)
            let name = row.rule.name.padding(toLength: width, withPad: " ", startingAt: 0)
            text += "\(verdict)  \(name)  \(row.finding.seen)\n"
            text += "\(indent(verdictWidth))rule:   \(row.rule.text)\n"
            text += "\(indent(verdictWidth))source: \(row.rule.source)\n"
        }
        for (name, ms) in figures(report.facts) { text += "figure    \(name): \(ms) ms\n" }
        return text + "\(summary(report))\n"
    }

    private static func indent(_ width: Int) -> String { String(repeating: " ", count: width + 2) }

    static func summary(_ report: CheckReport) -> String {
        "\(report.count(.pass)) passed, \(report.count(.fail)) failed, \(report.count(.notSeen)) not seen"
    }

    /// Names and milliseconds.
    static func figures(_ facts: StreamFacts) -> [(name: String, ms: UInt64)] {
        var figures: [(name: String, ms: UInt64)] = []
        if facts.startedMs != nil { figures.append(("upgrade", facts.upgradeMs)) }
        if let ms = facts.firstSoundMs { figures.append(("first sound", ms)) }
        for ms in facts.answerMs { figures.append(("sound after speech", ms)) }
        if case .cleared(let ms) = facts.bargeIn { figures.append(("clear after speech", ms)) }
        return figures
    }

    private struct Output: Encodable {
        struct Rule: Encodable {
            var name: String
            var verdict: String
            var seen: String
            var rule: String
            var source: String
        }
        struct Figure: Encodable {
            var name: String
            var ms: UInt64
        }
        var dialect: String
        var format: String
        var passed: Int
        var failed: Int
        var notSeen: Int
        var rules: [Rule]
        var figures: [Figure]
        enum CodingKeys: String, CodingKey {
            case dialect, format, passed, failed, rules, figures
            case notSeen = "not_seen"
        }
    }

    static func json(_ report: CheckReport, dialect: String, format: String) -> String {
        let rules = report.rows.map { row in
            Output.Rule(
                name: row.rule.name, verdict: row.finding.verdict.rawValue.lowercased().replacing(" ", with: "_"),
                seen: row.finding.seen, rule: row.rule.text, source: row.rule.source)
        }
        let output = Output(
            dialect: dialect, format: format, passed: report.count(.pass), failed: report.count(.fail),
            notSeen: report.count(.notSeen), rules: rules,
            figures: figures(report.facts).map { Output.Figure(name: $0.name, ms: $0.ms) })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(output)) ?? Data()
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
