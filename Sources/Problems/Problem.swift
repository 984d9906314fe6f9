/// What the server says no with, or warns of: a code, and the values that stand in its text.
///
/// Programs and translations go by the code; `message` is its English text.
public struct Problem: Sendable, Equatable, CustomStringConvertible {
    public indirect enum Value: Sendable, Equatable {
        case text(String)
        case number(Int)
        case words([String])
        case problem(Problem)
    }

    public var code: ProblemCode
    public var params: [String: Value]

    public init(_ code: ProblemCode, _ params: [String: Value] = [:]) {
        self.code = code
        self.params = params
    }

    public var message: String {
        var text = "", rest = code.rawValue[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            let name = String(rest[open..<close].dropFirst())
            text += rest[..<open]
            text += params[name]?.description ?? "{\(name)}"
            rest = rest[close...].dropFirst()
        }
        return text + rest
    }

    public var description: String { message }
}

extension Problem.Value: CustomStringConvertible, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int) { self = .number(value) }

    public var description: String {
        switch self {
        case .text(let text): text
        case .number(let number): String(number)
        case .words(let words): words.joined(separator: ", ")
        case .problem(let problem): problem.message
        }
    }
}
