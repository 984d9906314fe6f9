import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct DigitTests {
    private static let scalars = (0...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)

    /// All of Unicode: what has a value without being a decimal number (general category Nd) is no digit.
    @Test func onlyDecimalNumbersAreDigits() {
        var refused = 0
        for scalar in Self.scalars
        where scalar.properties.numericType != nil && scalar.properties.generalCategory != .decimalNumber {
            refused += 1
            if NumberingPlan.stripped("+1555\(scalar)234572") != nil
                || NumberingPlan.stripped("\(scalar)\(scalar)\(scalar)\(scalar)") != nil
            {
                Issue.record("U+\(String(scalar.value, radix: 16)) is taken for a digit")
            }
        }
        #expect(refused > 900)
    }

    @Test func digitsOfEveryScriptAreRead() {
        let zeros = Self.scalars.filter {
            $0.properties.generalCategory == .decimalNumber && $0.properties.numericValue == 0
        }
        #expect(zeros.count > 60)
        for zero in zeros {
            let digits = "0123456789".unicodeScalars.compactMap { Unicode.Scalar(zero.value + $0.value - 48) }
            #expect(
                NumberingPlan.stripped(String(String.UnicodeScalarView(digits))) == "0123456789",
                "U+\(String(zero.value, radix: 16))")
        }
    }

    @Test(arguments: [
        "+1555Ⅷ234572", "0101234567①", "三三三三", "010¹234", "１２３4567", "٠١٢３４５", "+82 10 1234 567８", "1\u{20E3}234",
        "123\u{301}4", "\u{202D}123456\u{202C}",
        "0101234\u{FE0F}5678", "1234\n", "\t12345",
    ])
    func otherCharactersAreRejected(text: String) { #expect(NumberingPlan.stripped(text) == nil) }

    @Test func aNumberOfOneScriptIsRead() {
        #expect(
            NumberingPlan.stripped("０１０-１２３４-５６７８") == "01012345678"
                && NumberingPlan.stripped("＋８２１０１２３４５６７８") == "+821012345678")
        #expect(NumberingPlan.stripped("٠١٠١٢٣٤٥٦٧٨") == "01012345678")
    }
}
