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
    /// - Parameter hasCarrier: a carrier dials numbers though no gateway of ours may.
    public func operatorProblem(hasCarrier: Bool) -> String? {
        guard let operatorNumber else { return nil }
        do throws(Routing.Refusal) { _ = try routing.route(toSomebody: operatorNumber) } catch {
            if error.code != .noRoute || !hasCarrier { return "operators.number: \(error.message)" }
        }
        return nil
    }
}
