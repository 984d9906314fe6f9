import Foundation
import Realtime
import Store
import Testing

@testable import Calls

@Suite struct CallAddressTests {
    private var routing: Routing {
        var routing = Routing()
        routing.gateway = .sip([.init(address: "10.1.2.3")])
        routing.sipHosts = ["h"]
        return routing
    }

    @Test(arguments: [
        ("sip:911@h", "911"), ("SIP:911@h", "911"), ("sip:9.1.1@h", "911"), ("sip:9~1!1@h", "911"),
        ("sip:*119@h", "119"), ("sip:+911@h", "+911"),
        ("sip:+1-900-555-0123@h:5060", "+19005550123"), ("sip:+82(0)10.1234.5678@h", "+8201012345678"),
        ("sip:1001@h", "1001"),
        ("sip:9+11@h", "911"), ("tel:+82-10-1234-5678", "+821012345678"), ("TEL:119", "119"),
        ("010-1234-5678", "01012345678"),
    ])
    func anAddressYieldsItsNumber(address: String, number: String) {
        #expect(CallAddress(address)?.number == number)
    }

    @Test(arguments: ["sip:bob@h", "sip:bob-911@h", "sip:a1@h", "sip:12@h", "sip:-@h"])
    func namesStandForNone(address: String) {
        #expect(CallAddress(address) != nil && CallAddress(address)?.number == nil)
    }

    /// It is not certain how the far end would read these.
    @Test(arguments: [
        "sip:%39%31%31@h", "sip:911;phone-context=+1@h", "sip:911;user=phone@h", "sips:911@h",
        "tel:911;phone-context=+1", "tel:%39%31%31",
        "sip:911:x@h", "<sip:911@h>", "\"Bob\" <sip:911@h>", "Bob <sip:911@h>", "sip:911@x@h", "sip:911@@h", "sip:@h",
        "sip:911", "sip:911@",
        "sip:911@h;transport=tcp", "sip:911@h?x=y", "sip:９１１@h", "sip:911 @h", "sip: 911@h", " sip:911@h",
        "sip:911@h\n", "sip:9\u{301}11@h",
        "sip:911\u{0}@h", "sip:+19005550123000000@h", "sip:911@h:0", "sip:911@h:65536", "sip:911@h:+80",
        "sip:911@[::1]", "sip:911#@h", "tel:", "",
        "sip:" + String(repeating: "1", count: 300) + "@h",
    ])
    func malformedAddressesAreRejected(address: String) throws {
        #expect(CallAddress(address) == nil)
        let refusal = #expect(throws: Routing.Refusal.self) { try routing.route(to: address) }
        #expect(refusal?.code == .invalid)
    }

    @Test(arguments: [
        ("sip:911@h", Routing.Refusal.Code.emergency), ("SIP:911@h", .emergency), ("sip:+82-2-119@h", .emergency),
        ("sip:9.1.1@h", .emergency),
        ("sip:+1-900-555-0123@h", .premium), ("sip:060.700.1234@h", .premium), ("sip:00700.1.900.555.0123@h", .premium),
        ("sip:+8816~1234~5678@h", .premium),
        ("sip:+33142685300@h", .prefix), ("sip:+82(0)1012345678@elsewhere", .noRoute), ("TEL:911", .emergency),
    ])
    func rulesOfNumbersHoldForAddresses(address: String, code: Routing.Refusal.Code) {
        var routing = routing
        routing.allowedPrefixes = ["+82", "+1", "+881"]
        let refusal = #expect(throws: Routing.Refusal.self) { try routing.route(to: address) }
        #expect(refusal?.code == code)
    }

    @Test func addressesWithinTheRulesAreDialledUnchanged() throws {
        #expect(
            try routing.route(to: "sip:+1-212-555-0123@h:5080") == .sip(.init(requestURI: "sip:+1-212-555-0123@h:5080"))
        )
        #expect(try routing.route(to: "SIP:bob@h") == .sip(.init(requestURI: "sip:bob@h")))
    }

    @Test func onlyTheRequestersOwnBrowserIsCalled() throws {
        #expect(try routing.route(to: "browser:me") == .browser)
        #expect(throws: Routing.Refusal.self) { try routing.route(toSomebody: "browser:me") }
    }

    @Test func redirectionsAreHeldToTheSameRules() throws {
        var routing = routing
        routing.followsRedirects = true
        for contact in [
            "sip:911@h", "sip:9.1.1@h", "sip:+1-900-555-0123@h", "sip:%39%31%31@h", "sips:bob@h", "sip:911:x@h",
        ] {
            #expect(routing.redirect(to: contact, from: nil) == nil, "\(contact)")
        }
        #expect(routing.redirect(to: "sip:+12125550123@h;q=1", from: nil)?.requestURI == "sip:+12125550123@h")
    }

    @Test func everySpellingOfACalleeHasTheSameKey() {
        let plan = NumberingPlan(home: "KR")
        let spellings = [
            "010-1234-5678", "+821012345678", "sip:01012345678@h", "SIP:+82-10-1234-5678@other:5080",
            "tel:+821012345678",
        ]
        #expect(Set(spellings.map(plan.key)) == ["+821012345678"])
        #expect(
            plan.key("sip:Bob@H:5060") == "sip:bob@h:5060" && plan.key("sip:911;x@h") == "sip:911;x@h"
                && plan.key("kim") == "kim")
        #expect(
            plan.zones(of: "sip:+82-10-1234-5678@h").map(\.identifier) == ["Asia/Seoul"]
                && plan.zones(of: "sip:bob@h").isEmpty)
    }

    /// At dialling time too: what an older version accepted is not dialled by this one.
    @Test func callsThatAreStoredAlreadyAreJudged() {
        var policy = DiallingPolicy()
        policy.routing = routing
        for (callee, rule) in [
            ("sip:911@h", DialRule.emergency), ("sip:+19005550123@h", .premium), ("sip:%39%31%31@h", .noRoute),
        ] {
            let call = Call(
                localNumber: "025550100", remoteNumber: callee, brief: Brief(purpose: "p", questions: []),
                createdAt: Date())
            guard case .block(rule, _) = policy.verdict(on: call, history: .init(), at: Date()) else {
                return #expect(Bool(false), "\(callee)")
            }
        }
    }
}
