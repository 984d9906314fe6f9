internal import Foundation
public import JSON
internal import Realtime

/// Tools that are called before a call begins to speak: while it rings, or before it is dialled.
public struct BeforeCall: Sendable, Equatable {
    /// Milliseconds for all of them together.
    public static let limitMs = 3_000
    public static let stepLimit = 5
    /// Characters of a variable's text; a longer one is cut.
    public static let variableLimit = 2_000

    public struct Step: Sendable, Equatable {
        /// As agents list it.
        public var tool: String
        /// nil: the tool's own time.
        public var timeoutMs: Int?
        /// The variable that gets the result; nil: each member of the result becomes the variable of its name.
        public var into: String?
        public init(tool: String, timeoutMs: Int? = nil, into: String? = nil) {
            self.tool = tool
            self.timeoutMs = timeoutMs
            self.into = into
        }
    }

    public enum Verdict: Sendable, Equatable {
        /// What the variables are now.
        case go([String: JSONValue])
        /// A tool answered `{"skip": true, "reason": …}`: the call is not to be made.
        case skip(reason: String)
    }

    private static let reasonLimit = 200

    /// One after the other, as a later one may want what an earlier one found. What fails, or takes too long, leaves
    /// the variables as they are.
    /// - Parameter declared: names that may become variables; nil: all.
    public static func run(
        _ steps: [Step], _ box: CallToolBox, variables: [String: JSONValue], declared: Set<String>? = nil
    ) async -> Verdict {
        let clock = ContinuousClock(), begun = ContinuousClock.now
        var variables = variables
        for (index, step) in steps.prefix(stepLimit).enumerated() {
            let passed = clock.now - begun
            let left = limitMs - milliseconds(passed)
            guard left > 0 else { break }
            let known = variables
            let outcome = try? await TimeLimit.within(milliseconds: min(left, step.timeoutMs ?? left)) {
                await box.outcome(step.tool, arguments: "{}", number: "b\(index + 1)", variables: known)
            }
            guard let outcome, let kept = outcome.kept, outcome.result.status == "ok" else { continue }
            if let answer = outcome.answer ?? outcome.kept, answer["skip"] == true {
                var reason = ""
                if case .string(let words)? = answer["reason"] { reason = String(words.prefix(reasonLimit)) }
                return .skip(reason: reason)
            }
            var found: [String: JSONValue] = [:]
            if let into = step.into {
                found[into] = kept
            } else if case .object(let members) = kept {
                found = members
            }
            for (name, value) in found where value != .null && declared?.contains(name) != false {
                variables[name] = cut(value)
            }
        }
        return .go(variables)
    }

    private static func cut(_ value: JSONValue) -> JSONValue {
        guard case .string(let text) = value, text.count > variableLimit else { return value }
        return .string(String(text.prefix(variableLimit)))
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        let (seconds, attoseconds) = duration.components
        return Int(clamping: seconds.multipliedReportingOverflow(by: 1_000).partialValue)
            + Int(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
