internal import Foundation

@testable internal import Bridge
@testable internal import Calls

/// What Refer-To names, and that it can be written again: one address, one header without line ends.
func fuzzReferral(_ input: FuzzInput) {
    let referral = Referral(uri: input.text)
    expect(!referral.target.unicodeScalars.contains("?"), "headers in the address \(referral.target)")
    guard let replaces = referral.replaces else { return }
    expect(
        (1...Referral.replacesLimit).contains(replaces.utf8.count), "a Replaces header of \(replaces.utf8.count) bytes")
    expect(replaces.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "a Replaces header with control characters")
    guard !referral.target.isEmpty, let escaped = replaces.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
    else { return }
    let again = Referral(uri: referral.target + "?Subject=x&replaces=" + escaped)
    expect(again == referral, "\(referral) became \(again)")
}

/// Which number an address stands for does not depend on who asks, nor on how often.
func fuzzCallAddress(_ input: FuzzInput) {
    guard let address = CallAddress(input.text) else { return }
    if case .sip(let user, let host) = address.kind {
        expect(!(user + host).utf8.contains { $0 <= 0x20 || $0 >= 0x7F }, "a URI with other bytes: \(user) \(host)")
        expect(isSame("sip:\(user)@\(host)", "sip:" + input.text.dropFirst(4)), "the address changed")
        expect(CallAddress("sip:\(user)@\(host)") == address, "the address is read otherwise")
    }
    guard let number = address.number, let spelling = address.spelling else {
        return expect(address.number == nil && address.spelling == nil, "a number without its spelling")
    }
    let digits = number.utf8.drop { $0 == UInt8(ascii: "+") }
    expect((3...20).contains(digits.count) && digits.allSatisfy { (48...57).contains($0) }, "the number is \(number)")
    expect(number.utf8.count - digits.count <= 1, "the number is \(number)")
    expect(NumberingPlan.stripped(number) == number, "\(number) is read otherwise")
    for plan in plans {
        let isEmergency = plan.isEmergency(spelling)
        expect(isEmergency || !plan.isEmergency(number), "spelling hides an emergency: \(spelling)")
        expect(!plan.isOverlong(spelling) || plan.e164(spelling) == nil, "too long, and a number: \(number)")
        guard let e164 = plan.e164(spelling) else { continue }
        expect(
            e164.first == "+" && (5...15).contains(e164.utf8.count - 1)
                && e164.utf8.dropFirst().allSatisfy { (48...57).contains($0) }, "no number in E.164: \(e164)")
        expect(plan.e164(e164) == e164, "\(e164) becomes \(plan.e164(e164) ?? "nothing")")
        expect(plan.isPremium(spelling) == plan.isPremium(e164), "spelling decides about the price: \(spelling)")
        expect(!plan.isEmergency(e164) || isEmergency, "spelling hides an emergency: \(spelling)")
        expect(plan.key(input.text) == e164 && plan.key(e164) == e164, "another key: \(spelling)")
        expect(plan.zones(of: input.text) == plan.zones(of: e164), "spelling decides about the hours")
    }
}

private let plans = ["KR", "US", "RU", "DE", "SG", "HK", "none"].map { NumberingPlan(home: $0) }
