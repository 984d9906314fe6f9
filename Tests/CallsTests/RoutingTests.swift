import Foundation
import Pipeline
import Realtime
import Store
import Testing

@testable import Calls

extension Routing.Route {
    fileprivate var uri: String? { if case .sip(let route) = self { route.requestURI } else { nil } }
}

@Suite struct RoutingTests {
    private func routing(_ change: (inout Routing) -> Void = { _ in }) -> Routing {
        var routing = Routing()
        change(&routing)
        return routing
    }
    private func code(_ body: () throws(Routing.Refusal) -> Void) -> Routing.Refusal.Code? {
        do throws(Routing.Refusal) { try body() } catch { return error.code }
        return nil
    }
    @Test func numbersGoThroughTheGateway() throws {
        let routing = routing { $0.gateway = .sip([.init(address: "10.1.2.3:5070")]) }
        #expect(try routing.route(to: "010-9876 5432").uri == "sip:01098765432@10.1.2.3:5070")
        #expect(try routing.route(to: "+82 10 9876 5432").uri == "sip:+821098765432@10.1.2.3:5070")
        #expect(code { () throws(Routing.Refusal) in _ = try self.routing().route(to: "01098765432") } == .noRoute)
    }
    @Test func carriersTakeNumbersInE164() throws {
        let routing = routing { $0.gateway = .carrier("twilio") }
        let route = try routing.route(to: "+82 10-9876-5432")
        #expect(route == .carrier("twilio", to: "+821098765432"))
        #expect(try routing.route(to: "010-9876-5432") == route)
        #expect(code { () throws(Routing.Refusal) in try routing.checkCaller("555 01", for: route) } == .invalid)
        #expect(code { () throws(Routing.Refusal) in try routing.checkCaller("+82 2 555 0100", for: route) } == nil)
        #expect(try routing.route(to: "sip:bob@127.0.0.1").uri == "sip:bob@127.0.0.1")
    }
    @Test(arguments: ["911", "119", "1-1-2"]) func emergencyNumbersAreNeverDialled(number: String) {
        let routing = routing { $0.gateway = .sip([.init(address: "10.1.2.3")]) }
        #expect(code { () throws(Routing.Refusal) in _ = try routing.route(to: number) } == .emergency)
    }
    @Test(arguments: [
        "sip:x", "sip:@127.0.0.1", "sip:a b@127.0.0.1", "sip:a@127.0.0.1:0", "sip:a@127.0.0.1:x", "sip:a@b@c", "12",
        "abc",
        "sip:a@127.0.0.1;transport=tcp", "+1234567890123456",
    ])
    func badCalleesAreInvalid(callee: String) {
        #expect(code { () throws(Routing.Refusal) in _ = try routing().route(to: callee) } == .invalid)
    }
    @Test func sipHostsAreAllowListed() throws {
        #expect(try routing().route(to: "sip:bob@127.0.0.1:5090").uri == "sip:bob@127.0.0.1:5090")
        #expect(code { () throws(Routing.Refusal) in _ = try routing().route(to: "sip:bob@example.org") } == .noRoute)
        #expect(
            code { () throws(Routing.Refusal) in _ = try routing().route(to: "sip:bob@127.example.org") } == .noRoute)
        #expect(
            try routing { $0.sipHosts = ["example.org"] }.route(to: "sip:bob@example.org").uri == "sip:bob@example.org")
    }
    @Test func callersMustBeAllowed() {
        #expect(code { () throws(Routing.Refusal) in try routing().checkCaller("02 555 0100") } == nil)
        let strict = routing { $0.allowedCallers = ["+8225550100"] }
        #expect(code { () throws(Routing.Refusal) in try strict.checkCaller("+82 2 555 0100") } == nil)
        #expect(
            code { () throws(Routing.Refusal) in try strict.checkCaller("02-555-0100") } == nil, "spelled otherwise")
        #expect(code { () throws(Routing.Refusal) in try strict.checkCaller("025550101") } == .callerNotAllowed)
        #expect(
            code { () throws(Routing.Refusal) in try routing { $0.isBoundToLoopback = false }.checkCaller("025550100") }
                == .callerNotAllowed)
    }
}
