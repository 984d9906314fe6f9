internal import Bridge

/// Whom a caller is to be handed to.
public enum TransferChoice: Sendable, Equatable {
    case anybody
    case `operator`(id: String)
    case number(String)
}

/// A person who may be rung.
struct TransferTarget: Equatable {
    var operatorID: String?
    var name: String
    /// Where his phones are; they ring together.
    var routes: [Routing.SIPRoute]
    var ringSeconds: Int
    /// Somebody talks with him already, and makes room.
    var place: Place?

    /// The far end of a dialog, as a Replaces header names it (RFC 3891).
    struct Place: Equatable {
        var replaces: String
        /// The dialog is ours: another call of this server.
        var isOurs: Bool
    }

    /// Seconds within which somebody who talks already must take the caller.
    static let joinSeconds = 10
}

extension CallLine {
    /// Whether there is anybody at all, now or later in the call.
    func hasSomebody(_ settings: CallSettings) -> Bool {
        operators?.all.isEmpty == false
            || !targets(settings, choice: settings.operatorNumber.map { .number($0) } ?? .anybody).isEmpty
    }

    /// How an operator is rung; nil: he is not to be, or cannot.
    func target(_ known: Operator, _ settings: CallSettings) -> TransferTarget? {
        guard let operators, operators.canRing(known) else { return nil }
        return TransferTarget(
            operatorID: known.id, name: known.name, routes: routes(to: known, settings), ringSeconds: known.ringSeconds)
    }

    /// An operator's registered phones, or else his address.
    private func routes(to known: Operator, _ settings: CallSettings) -> [Routing.SIPRoute] {
        let phones =
            operators?.phones(of: known).map {
                Routing.SIPRoute(requestURI: $0.contact, proxy: $0.route, credentials: nil)
            } ?? []
        guard phones.isEmpty, let address = known.address, let route = settings.routing.sipRoute(to: address) else {
            return phones
        }
        return [route]
    }

    /// Those who may be asked to take a call, in the order in which they are tried.
    func targets(_ settings: CallSettings, choice: TransferChoice = .anybody) -> [TransferTarget] {
        switch choice {
        case .operator(let id): return operators?.with(id: id).flatMap { target($0, settings) }.map { [$0] } ?? []
        case .number(let number):
            guard let route = settings.routing.sipRoute(to: number) else { return [] }
            return [
                TransferTarget(operatorID: nil, name: number, routes: [route], ringSeconds: Int(settings.ringTimeout))
            ]
        case .anybody:
            var found = operators?.available.compactMap { target($0, settings) } ?? []
            if let number = settings.operatorNumber { found += targets(settings, choice: .number(number)) }
            return found
        }
    }

    /// Whom a person's phone sends the caller on to: a colleague, for outside there are trunks that cost money. Where
    /// he has asked the colleague himself before, he gives up his own place in that call (RFC 5589 §7).
    func target(of referral: Referral, _ settings: CallSettings) -> TransferTarget? {
        let user = referral.target.drop { $0 != ":" }.dropFirst().prefix { $0 != "@" && $0 != ";" && $0 != "?" }
        let colleague = operators?.with(number: String(user))
        guard let replaces = referral.replaces else { return colleague.flatMap { self.target($0, settings) } }
        var target = TransferTarget(
            operatorID: colleague?.id, name: colleague?.name ?? String(user), routes: [],
            ringSeconds: TransferTarget.joinSeconds,
            place: .init(replaces: replaces, isOurs: referral.replacesOurs))
        if referral.replacesOurs {
            let (host, port) = userAgent.inside
            target.routes = [Routing.SIPRoute(requestURI: "sip:join@\(host):\(port)", proxy: nil, credentials: nil)]
        } else if let colleague {
            // They have called each other past us: his phones know the dialog, busy as he is.
            target.routes = routes(to: colleague, settings)
        }
        return target
    }
}
