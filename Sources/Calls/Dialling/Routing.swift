public import Bridge
internal import Foundation
internal import Net
public import Problems

/// Where a number leads.
public struct Routing: Sendable, Equatable {
    /// The gateway for telephone numbers.
    public enum Gateway: Sendable, Equatable {
        /// In the order in which they are tried.
        case sip([Trunk])
        /// One of `Carriers`, by its name.
        case carrier(String)
    }
    /// A SIP trunk.
    public struct Trunk: Sendable, Equatable {
        /// `host` or `host:port`, and perhaps `;transport=tcp` or `tls`.
        public var address: String
        public var credentials: Invitation.Credentials?
        public var outboundProxy: String?
        public init(address: String, credentials: Invitation.Credentials? = nil, outboundProxy: String? = nil) {
            self.address = address
            self.credentials = credentials
            self.outboundProxy = outboundProxy
        }
    }
    public var gateway: Gateway?
    /// Hosts a `sip:` callee may name; nil: loopback hosts while bound to loopback, else none.
    public var sipHosts: [String]?
    /// Numbers that may be shown to a callee; nil: any while bound to loopback, else none.
    public var allowedCallers: [String]?
    public var isBoundToLoopback = true
    public init() {}

    public var plan = NumberingPlan()
    /// How a number stands in the Request-URI.
    public var numberFormat = NumberFormat.asDialled
    /// Beginnings of numbers in E.164 that may be dialled; nil: any.
    public var allowedPrefixes: [String]?

    public enum NumberFormat: String, Sendable, CaseIterable {
        case asDialled = "as_dialled"
        case e164
    }

    public struct Refusal: Error, Sendable, Equatable {
        public enum Code: String, Sendable {
            case noRoute = "no_route", invalid, callerNotAllowed = "caller_not_allowed"
            case emergency = "emergency_number", premium = "premium_number", prefix = "prefix_not_allowed"

            /// The rule of the dialling policy behind it.
            public var rule: DialRule? { DialRule(rawValue: rawValue) }
        }
        public var code: Code
        public var problem: Problem
        init(_ code: Code, _ problem: ProblemCode, _ params: [String: Problem.Value] = [:]) {
            self.code = code
            self.problem = Problem(problem, params)
        }
        public var message: String { problem.message }

        /// The caller number is another company's.
        public static let notAllowed = Refusal(.callerNotAllowed, .callerNotAllowed)
    }

    public enum Route: Sendable, Equatable {
        case sip(SIPRoute)
        /// To a number in E.164, by the carrier of this name.
        case carrier(String, to: String)
        /// To a page in the requester's browser.
        case browser
    }
    public struct SIPRoute: Sendable, Equatable {
        public var requestURI: String
        public var proxy: String?
        public var credentials: Invitation.Credentials?
        /// Address of the trunk; nil: directly to the callee.
        public var trunk: String?
        /// Where else it may be tried.
        public var alternatives: [SIPRoute] = []
        /// Host that the signalling goes to.
        var host: String {
            let uri = proxy ?? requestURI
            let rest = uri.split(separator: "@").last ?? ""
            let bare =
                rest.lowercased().hasPrefix("sip:")
                ? rest.dropFirst(4) : rest.lowercased().hasPrefix("sips:") ? rest.dropFirst(5) : rest
            return String(bare.prefix { !":;?>".contains($0) })
        }
        /// The signalling is TLS.
        var isSecure: Bool {
            (proxy ?? requestURI).lowercased().contains("transport=tls") || requestURI.lowercased().hasPrefix("sips:")
        }
    }

    /// Digits of a number, `+` kept; nil if it is none (ITU-T E.164: at most 15 digits).
    public static func normalize(_ number: String) -> String? { NumberingPlan.stripped(number) }

    /// The way to a callee that no rule of numbers forbids.
    public func route(to callee: String) throws(Refusal) -> Route {
        if callee.hasPrefix(Call.browserPrefix) { return .browser }
        guard let address = CallAddress(callee) else {
            let isSIP = callee.prefix(4).lowercased() == "sip:" || callee.prefix(5).lowercased() == "sips:"
            throw Refusal(.invalid, isSIP ? .notSipAddress : .notCallAddress)
        }
        let international = address.spelling.flatMap(plan.e164)
        if let number = address.number { try check(number, international: international) }
        if case .sip(let user, let host) = address.kind {
            let bare = Self.bare(host)
            let allowed =
                sipHosts.map { $0.contains(bare) || $0.contains(host) }
                ?? (isBoundToLoopback && SocketAddress.isLoopback(bare))
            guard allowed else {
                throw Refusal(.noRoute, .hostNotAllowed, ["host": .text(bare)])
            }
            return .sip(SIPRoute(requestURI: "sip:\(user)@\(host)", proxy: nil, credentials: nil))
        }
        guard let number = address.number else {
            throw Refusal(.invalid, .notCallAddress)
        }
        switch gateway {
        case nil:
            throw Refusal(.noRoute, .noGatewayForNumbers)
        case .sip(let trunks):
            let user = numberFormat == .e164 ? international ?? number : number
            let routes = trunks.map {
                SIPRoute(
                    requestURI: "sip:\(user)@\($0.address)", proxy: $0.outboundProxy, credentials: $0.credentials,
                    trunk: $0.address)
            }
            guard var route = routes.first else { throw Refusal(.noRoute, .noGateway) }
            route.alternatives = Array(routes.dropFirst())
            return .sip(route)
        case .carrier(let name):
            guard let international else {
                throw Self.notInternational(.noRoute, name)
            }
            return .carrier(name, to: international)
        }
    }

    /// The way by SIP to an operator's address or a number that callers are handed to; nil: a rule forbids it, or it is
    /// not reached by SIP. A call's own route is `route(to:)`, decided once an attempt (`DiallingPolicy`).
    func sipRoute(to address: String) -> SIPRoute? {
        guard case .sip(let route)? = try? route(to: address) else { return nil }
        return route
    }

    /// As `route(to:)`, for a third party: the requester's own browser is not allowed.
    public func route(toSomebody callee: String) throws(Refusal) -> Route {
        let route = try route(to: callee)
        if case .browser = route {
            throw Refusal(.invalid, .notCallAddress)
        }
        return route
    }

    /// The rules that a number breaks or keeps by itself, wherever it is dialled.
    private func check(_ number: String, international: String?) throws(Refusal) {
        guard !plan.isOverlong(number) else { throw Refusal(.invalid, .notCallAddress) }
        guard ![number, international].compactMap(\.self).contains(where: plan.isEmergency) else {
            throw Refusal(.emergency, .emergencyNumber)
        }
        guard !plan.isPremium(international ?? number) else {
            throw Refusal(.premium, .premiumNumber)
        }
        guard let allowedPrefixes else { return }
        let isAllowed = allowedPrefixes.contains { (international ?? number).hasPrefix($0) }
        guard isAllowed else {
            throw Refusal(.prefix, .prefixNotAllowed)
        }
    }

    /// What a carrier takes that dials numbers in E.164 alone.
    private static func notInternational(_ code: Refusal.Code, _ carrier: String) -> Refusal {
        let title = Carriers.known(carrier)?.title ?? carrier
        return Refusal(code, .notInternational, ["carrier": .text(title), "example": "+821098765432"])
    }

    /// Without its port.
    private static func bare(_ host: String) -> String { host.split(separator: ":").first.map(String.init) ?? host }

    /// Whether redirections (3xx) are followed. Off by default: a callee could redirect calls to premium-rate numbers.
    public var followsRedirects = false

    /// Where a 3xx leads; nil: it is not followed. Only to hosts that we call anyway.
    func redirect(to contact: String, from route: SIPRoute?) -> SIPRoute? {
        guard followsRedirects,
            let address = CallAddress(contact.split(separator: ";").first.map(String.init) ?? contact),
            case .sip(let user, let host) = address.kind
        else { return nil }
        let bare = Self.bare(host)
        let known = [route?.trunk, route?.requestURI.split(separator: "@").last.map(String.init)].compactMap { $0 }.map
        {
            Self.bare($0.split(separator: ";").first.map(String.init) ?? "")
        }
        guard known.contains(bare) || sipHosts?.contains(bare) == true || sipHosts?.contains(host) == true else {
            return nil
        }
        if let number = address.number, (try? check(number, international: address.spelling.flatMap(plan.e164))) == nil
        {
            return nil
        }
        return SIPRoute(
            requestURI: "sip:\(user)@\(host)", proxy: nil, credentials: known.contains(bare) ? route?.credentials : nil,
            trunk: route?.trunk)
    }

    /// - Parameter route: the callee's, where there is one.
    public func checkCaller(_ caller: String, for route: Route? = nil) throws(Refusal) {
        guard let normalized = Self.normalize(caller) else {
            throw Refusal(.invalid, .notPhoneNumber)
        }
        // No telephone shows it.
        if case .browser? = route { return }
        if case .carrier(let name, _)? = route, plan.e164(caller) == nil {
            throw Self.notInternational(.invalid, name)
        }
        if let allowedCallers {
            guard allowedCallers.contains(where: { plan.key($0) == plan.key(normalized) }) else {
                throw Refusal(.callerNotAllowed, .callerNotAllowed)
            }
        } else if !isBoundToLoopback {
            throw Refusal(.callerNotAllowed, .noCallerAllowed)
        }
    }
}
