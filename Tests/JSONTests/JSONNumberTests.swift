import Foundation
import Testing

@testable import JSON

@Suite struct JSONNumberTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    @Test(arguments: [
        "9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1e400", "-1E+400", "1e-400",
        "0.1000", "-0", "-0.0", "0e0", "1.0",
        "3.141592653589793238462643383279", "1e99999999999999999999999", "0", "10",
        String(repeating: "9", count: 1_024),
    ])
    func numbersKeepTheirSpelling(number: String) throws {
        #expect(try parse(number).text == number)
        let nested = "{\"a\":[{\"b\":[\(number),{\"c\":\(number)}]}]}"
        #expect(try parse(nested).text == nested)
        // As it comes back from the store.
        #expect(try parse(try parse(nested).text).text == nested)
    }

    @Test(arguments: [
        "01", "-01", "1.", ".1", "+1", "1e", "1e+", "--1", "0x1", "1_000", "NaN", "Infinity", "-", "1,0", "１", "1 2",
        "-.5", "00",
        String(repeating: "9", count: 1_025), "0." + String(repeating: "1", count: 1_023),
    ])
    func malformedNumbersAreErrors(text: String) { #expect(throws: JSONValue.ParseError.self) { _ = try parse(text) } }

    @Test func theLimitIsToldInTheError() {
        let error = #expect(throws: JSONValue.ParseError.self) { _ = try parse(String(repeating: "9", count: 1_025)) }
        #expect(error?.message == "a number is longer than 1024 characters")
    }

    @Test(arguments: [
        ("300", 300), ("3e2", 300), ("300.0", 300), ("3000e-1", 300), ("-0", 0), ("0e99999999999999999999", 0),
        ("1e3", 1_000),
        ("9007199254740993", nil), ("1e400", nil), ("1e99999999999999999999", nil), ("1.5", nil), ("-1e400", nil),
    ])
    func wholeNumbers(text: String, value: Int?) { #expect(JSONNumber(written: text).integer == value) }

    @Test(arguments: [
        ("0.1", 0.1), ("0.1000", 0.1), ("-2.50", -2.5), ("1e300", 1e300), ("9007199254740992", 9_007_199_254_740_992),
        ("100000000000000000000", 1e20),
    ])
    func numbersThatADoubleHolds(text: String, value: Double) { #expect(JSONNumber(written: text).exact == value) }

    /// Better no than another number.
    @Test(arguments: [
        "9007199254740993", "0.1234567890123456789", "1e400", "-1e400", "1e-400", "123456789012345678901234567890",
    ])
    func numbersThatADoubleWouldChange(text: String) { #expect(JSONNumber(written: text).exact == nil) }

    @Test func doublesAreWrittenAsNumbers() throws {
        #expect(
            JSONNumber(3).text == "3" && JSONNumber(-0.5).text == "-0.5" && JSONNumber(.infinity).text == "null"
                && JSONNumber(.nan).text == "null")
        for value in [1e15, 1e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -1e-7] {
            #expect(
                try parse(JSONNumber(value).text) == .number(JSONNumber(value)) && JSONNumber(value).nearest == value)
        }
    }
}
