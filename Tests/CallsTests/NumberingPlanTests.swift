import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct NumberingPlanTests {
    private let korea = NumberingPlan(home: "KR")

    @Test(arguments: [
        ("010-1234-5678", "+821012345678"), ("01012345678", "+821012345678"), ("+82 10 1234 5678", "+821012345678"),
        ("+82 (0)10-1234-5678", "+821012345678"), ("+82 010 1234 5678", "+821012345678"),
        ("00182 10 1234 5678", "+821012345678"),
        ("00700 82 10 1234 5678", "+821012345678"), ("02-555-0100", "+8225550100"), ("1588-0000", "+8215880000"),
        ("０１０－１２３４－５６７８".replacing("－", with: "-"), "+821012345678"), ("+44 (0)20 7946 0000", "+442079460000"),
        ("tel:+442079460000", "+442079460000"),
    ])
    func koreanSpellings(text: String, e164: String) { #expect(korea.e164(text) == e164) }

    @Test(arguments: [
        ("US", "(212) 555-0123", "+12125550123"), ("US", "1-212-555-0123", "+12125550123"),
        ("US", "011 44 20 7946 0000", "+442079460000"),
        ("RU", "8 (495) 123-45-67", "+74951234567"), ("DE", "030 901820", "+4930901820"),
        ("IT", "06 1234 5678", "+390612345678"),
        ("GB", "020 7946 0000", "+442079460000"), ("JP", "010 82 10 1234 5678", "+821012345678"),
    ])
    func spellingsOfOtherCountries(home: String, text: String, e164: String) {
        #expect(NumberingPlan(home: home).e164(text) == e164)
    }

    @Test(arguments: [
        "119", "12", "call me", "+", "", "+123456789012345678", "++8210", "1234a567", "010万1234", "①②③④⑤⑥⑦百",
    ])
    func invalidNumbersHaveNoE164Form(text: String) { #expect(korea.e164(text) == nil) }

    @Test func emergencyAndExpensiveNumbers() {
        for text in ["119", "112", "911", "02-119", "+82 2 119", "031 112"] {
            #expect(korea.isEmergency(text), "\(text)")
        }
        // The way abroad leads back home.
        for text in ["00182 2 119", "0082-2-119", "006821 19", "+82 000 2 119", "+82(0)(0)(0)(0)119"] {
            #expect(korea.isEmergency(text), "\(text)")
        }
        #expect(NumberingPlan(home: "US").isEmergency("011 82 2 119"))
        #expect(!NumberingPlan(home: "US").isEmergency("011 82 2 555 0119"))
        for text in ["02-555-0119", "1588-0119", "+82 2 555 0112"] { #expect(!korea.isEmergency(text), "\(text)") }
        for text in ["060-700-1234", "+1 900 555 0123", "+44 9098 790000", "+8816 1234 5678", "+979 1234 5678"] {
            #expect(korea.isPremium(text), "\(text)")
        }
        for text in ["010-6060-1234", "+1 212 900 5555", "+44 20 7946 0000"] {
            #expect(!korea.isPremium(text), "\(text)")
        }
    }

    /// Zeros before the national number change nothing, and what is behind a number neither.
    @Test func otherSpellingsOfDearNumbersAreDearToo() {
        for text in ["+82 00 60 700 1234", "060 700 1234 56789", "001 1 900 555 0123 000000"] {
            #expect(korea.isPremium(text), "\(text)")
        }
        #expect(korea.e164("+82 0010 1234 5678") == "+821012345678" && korea.e164("+82 012") == nil)
        #expect(korea.e164("060 700 1234 56789") == nil)
    }

    @Test func numbersThatAreTooLongAreNotDialled() {
        var routing = Routing()
        routing.gateway = .sip([.init(address: "10.1.2.3")])
        for text in ["001 82 10 1234 5678 0000", "010 1234 5678 0000", "001 44 20 7946 0000 0000"] {
            let refusal = #expect(throws: Routing.Refusal.self, "\(text)") { try routing.route(to: text) }
            #expect(refusal?.code == .invalid)
        }
        #expect(throws: Never.self) { try routing.route(to: "00700 82 10 1234 5678") }
    }

    @Test func aKeyIsTheSameForEverySpelling() {
        #expect(Set(["010 1234 5678", "+821012345678", "0082-10-1234-5678"].map(korea.key)).count == 1)
        #expect(korea.key("sip:Bob@127.0.0.1") == korea.key("SIP:bob@127.0.0.1"))
        #expect(korea.key("119") == "119")
    }
}
