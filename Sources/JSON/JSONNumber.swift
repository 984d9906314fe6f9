/// A number of a JSON text as it was written (RFC 8259 §6): 9007199254740993, 1e400 and 0.1000 come back as they came.
public struct JSONNumber: Sendable, Equatable, ExpressibleByFloatLiteral {
    /// Characters of a number. RFC 8259 §6 lets a reader set a limit; this is beyond every quantity that has a meaning.
    public static let lengthLimit = 1_024
    /// Beyond it not every whole number is a double of its own.
    private static let wholeLimit = 1e15

    public let text: String

    /// - Parameter text: a number by the grammar of RFC 8259 §6.
    public init(written text: String) { self.text = text }

    /// What is no number at all in JSON, an infinity, is `null`.
    public init(_ value: Double) {
        guard value.isFinite else {
            text = "null"
            return
        }
        text = value == value.rounded() && abs(value) < Self.wholeLimit ? String(Int64(value)) : String(value)
    }
    public init(floatLiteral value: Double) { self.init(value) }

    /// The nearest double; nil beyond all of them.
    public var nearest: Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

    /// The number as a double that says the same, digit by digit; nil where a double would change it.
    public var exact: Double? {
        guard let nearest, let given = Decimals(text), given == Decimals(JSONNumber(nearest).text) else { return nil }
        return nearest
    }

    /// A whole number, however it is written: 300, 3e2, 300.0.
    public var integer: Int? { exact.flatMap { Int(exactly: $0) } }

    /// A number's sign, its digits without zeros at either end, and the power of ten behind them.
    private struct Decimals: Equatable {
        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0

        /// nil: its power of ten is beyond an `Int`.
        init?(_ text: String) {
            var rest = Array(text.utf8)[...]
            if rest.first == UInt8(ascii: "-") { isNegative = rest.popFirst() != nil }
            let mantissa = rest.prefix { $0 != UInt8(ascii: "e") && $0 != UInt8(ascii: "E") }
            let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
            let fraction = mantissa.dropFirst(whole.count + 1)
            digits = Array((whole + fraction).drop { $0 == UInt8(ascii: "0") })
            guard !digits.isEmpty else {
                // -0 is 0.
                isNegative = false
                return
            }
            let power = rest.dropFirst(mantissa.count + 1)
            guard let power = power.isEmpty ? 0 : Int(String(decoding: power, as: UTF8.self)) else { return nil }
            let zeros = digits.reversed().prefix { $0 == UInt8(ascii: "0") }.count
            digits.removeLast(zeros)
            // Both are shorter than a number may be long.
            let (sum, isTooLarge) = power.addingReportingOverflow(zeros - fraction.count)
            guard !isTooLarge else { return nil }
            exponent = sum
        }
    }
}
