internal import Bridge
internal import Store

/// Whom a caller is to be handed to.
public enum TransferChoice: Sendable, Equatable {
    case anyOperator
    case `operator`(id: String)
    case number(String)
}

/// A person who may be rung.
struct TransferTarget: Equatable {
    var operatorID: String?
    var name: String
    /// Routes to the operator's phones, which ring together.
    var routes: [Routing.SIPRoute]
    var ringSeconds: Int
    /// An existing call with the operator that the new one replaces.
    var place: Place?

    /// The far end of a dialog, as a Replaces header names it (RFC 3891).
    struct Place: Equatable {
        var replaces: String
        /// The dialog is ours: another call of this server.
        var isOurs: Bool
    }

    /// Seconds within which a person who is in a call already must take the caller.
    static let joinSeconds = 10
}

extension CallLine {
    /// Whether the call can be transferred at all, now or later.
    func hasTargets(_ company: CompanyID, _ settings: CallSettings) -> Bool {
        operators?.all(company).isEmpty == false
            || !targets(company, settings, choice: settings.operatorNumber.map { .number($0) } ?? .anyOperator).isEmpty
    }

    /// How an operator is rung; nil: the operator is unavailable, or has no phone.
    func target(_ known: Operator, _ settings: CallSettings) -> TransferTarget? {
        guard let operators, operators.canRing(known) else { return nil }
        return TransferTarget(
            operatorID: known.id, name: known.name, routes: routes(to: known, settings), ringSeconds: known.ringSeconds)
    }

    /// An operator's registered phones, or else the operator's address.
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
    func targets(_ company: CompanyID, _ settings: CallSettings, choice: TransferChoice = .anyOperator)
        -> [TransferTarget]
    {
        switch choice {
        case .operator(let id):
            return operators?.with(company, id: id).flatMap { target($0, settings) }.map { [$0] } ?? []
        case .number(let number):
            guard let route = settings.routing.sipRoute(to: number) else { return [] }
            return [
                TransferTarget(operatorID: nil, name: number, routes: [route], ringSeconds: Int(settings.ringTimeout))
            ]
        case .anyOperator:
            var found = operators?.available(company).compactMap { target($0, settings) } ?? []
            if let number = settings.operatorNumber { found += targets(company, settings, choice: .number(number)) }
            return found
        }
    }

    /// Where a caller's phone is asked to call; nil: nowhere.
    func referral(_ company: CompanyID, _ settings: CallSettings, _ choice: TransferChoice) -> Routing.SIPRoute? {
        var choice = choice
        if choice == .anyOperator, let number = settings.operatorNumber { choice = .number(number) }
        return targets(company, settings, choice: choice).first?.routes.first
    }

    /// The target of a person's REFER: a colleague only, because calls through trunks cost money. In an attended
    /// transfer the referrer's call with the colleague is replaced (RFC 5589 §7).
    func target(_ company: CompanyID, of referral: Referral, _ settings: CallSettings) -> TransferTarget? {
        let user = referral.target.drop { $0 != ":" }.dropFirst().prefix { $0 != "@" && $0 != ";" && $0 != "?" }
        let colleague = operators?.with(number: String(user)).flatMap { $0.company == company ? $0 : nil }
        guard let replaces = referral.replaces else { return colleague.flatMap { self.target($0, settings) } }
        var target = TransferTarget(
            operatorID: colleague?.id, name: colleague?.name ?? String(user), routes: [],
            ringSeconds: TransferTarget.joinSeconds,
            place: .init(replaces: replaces, isOurs: referral.replacesOurs))
        if referral.replacesOurs {
            let (host, port) = userAgent.inside
            target.routes = [Routing.SIPRoute(requestURI: "sip:join@\(host):\(port)", proxy: nil, credentials: nil)]
        } else if let colleague {
            // The two called each other directly: the colleague's phones know the dialog.
            target.routes = routes(to: colleague, settings)
        }
        return target
    }
}
