internal import Settings

extension CallSettings {
    @SettingsBuilder<Self> static var operatorKeys: [Setting<Self>] {
        Setting(
            "operators.number", \.operatorNumber, .text,
            "number or sip: address that a call is handed to when a person is asked for", unset: "none")
        Setting(
            "operators.transfer_mode", \.transferMode, .choice,
            "attended: we ring, brief and join; blind: REFER, or the provider dials")
    }

    /// The rules allow this number to be called, by our gateway or by a carrier that needs none.
    func mayBeDialled(_ number: String) -> Bool {
        do throws(Routing.Refusal) { _ = try routing.route(toSomebody: number) } catch { return error.code == .noRoute }
        return true
    }

    /// Why `operators.number` cannot be called; nil: it can.
    /// - Parameters:
    ///   - hasCarrier: a carrier hands calls over to numbers, whatever gateway of ours may dial them.
    ///   - withoutTransfer: carriers that place calls and cannot hand them over.
    public func operatorProblem(hasCarrier: Bool, withoutTransfer: [String]) -> String? {
        guard let operatorNumber else { return nil }
        let why = withoutTransfer.map { "\($0) cannot transfer calls" }
        do throws(Routing.Refusal) {
            let route = try routing.route(toSomebody: operatorNumber)
            guard case .carrier = route, !hasCarrier, let first = why.first else { return nil }
            return "operators.number: \(first)"
        } catch {
            guard error.code == .noRoute else { return "operators.number: \(error.message)" }
            return hasCarrier ? nil : "operators.number: " + ([error.message] + why).joined(separator: "; ")
        }
    }
}
