/// Sends text messages: what some carriers' APIs do beside calls.
public protocol TextMessenger: Sendable {
    /// - Parameters:
    ///   - to: E.164.
    ///   - from: a number of ours at the carrier, in E.164.
    func send(_ text: String, to: String, from: String) async throws(CarrierFailure)
}
