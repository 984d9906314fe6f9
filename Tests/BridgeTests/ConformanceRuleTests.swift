import Testing

@testable import Bridge

/// Every rule of every dialect finds the server that breaks it, and no rule but that one does.
@Suite struct ConformanceRuleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var dialect: any MediaStreamDialect.Type
        var rule: String
        var testDescription: String { "\(dialect.traits.name)/\(rule)" }
    }

    /// `understood` is for what no other rule knows: StreamCheckTests breaks it in a dialect of its own.
    static let cases: [Case] = Dialects.all.flatMap { dialect in
        ConformanceJudge(dialect).rules.map(\.name).filter { $0 != "understood" }
            .map { Case(dialect: dialect, rule: $0) }
    }

    @Test(arguments: cases) func aServerThatBreaksARuleFailsThatOneAlone(_ item: Case) throws {
        let run = try CheckRun(item.dialect)
        let breaker = try #require(RuleBreakers.breaker(of: item.rule, item.dialect), "no server breaks this rule")
        breaker(run)
        let failed = CheckRun.failed(run.report())
        #expect(failed.count == 1 && failed[0].hasPrefix(item.rule + ":"), "\(failed)")
    }

    @Test(arguments: Dialects.all.map { Case(dialect: $0, rule: "") }) func rulesHaveNamesTextsAndSources(_ item: Case)
    {
        let rules = ConformanceJudge(item.dialect).rules
        #expect(Set(rules.map(\.name)).count == rules.count, "a name twice")
        for rule in rules {
            #expect(rule.source.hasPrefix("https://") && rule.text.hasSuffix("."), "\(rule.name)")
            #expect(rule.name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "-" }, "\(rule.name)")
        }
    }
}
