internal import Bridge
internal import Foundation
internal import Realtime
internal import Synchronization

/// The calls that a provider brings in: takes each one once, whatever is told twice, and finds it by the provider's id.
public final class ProviderArrivals: Sendable {
    /// Calls that have ended and are still known, so that a webhook told again does not begin one anew.
    private static let endedLimit = 1_000
    /// What stands in the record where the provider does not tell a number.
    private static let unknown = "unknown"

    private struct State {
        var calls: [String: ArrivedCall] = [:]
        /// The provider's ids of ended calls, oldest first.
        var ended: [String] = []
    }
    private let router: InboundRouter
    private let state = Mutex(State())

    public init(_ router: InboundRouter) { self.router = router }

    /// What is done with a call.
    public enum Verdict: Sendable, Equatable {
        /// Its record's id, by which its media are awaited.
        case taken(String)
        case refused(InboundRouter.Refusal)
        /// It has ended.
        case over
    }

    /// A call has come, or its webhook is told again.
    ///
    /// - Parameters:
    ///   - providerCallID: the carrier's id of the call.
    ///   - carrier: nil: none of ours. Nothing is told twice then, and one call may bring several streams.
    ///   - from: who calls, nil where that is not told.
    ///   - to: the number dialled, nil where that is not told.
    public func arrive(_ providerCallID: String, by carrier: (any Carrier)?, from: String?, to: String?) -> Verdict {
        state.withLock { state in
            if carrier != nil {
                if let known = state.calls[providerCallID] { return .taken(known.record.id) }
                guard !state.ended.contains(providerCallID) else { return .over }
            }
            let destination: InboundRouter.Destination, line: CallLine
            do throws(InboundRouter.Refusal) {
                destination = try router.destination(of: to)
                line = try router.admit().line
            } catch { return .refused(error) }
            var record = Call(
                arrivalOf: providerCallID, from: from ?? Self.unknown, to: to ?? Self.unknown, at: destination,
                maxDuration: router.settings.maxCallDuration, createdAt: router.now())
            record.take(destination, in: router.settings, zone: router.zone)
            let call = ArrivedCall(record, by: carrier, line: line, settings: router.settings, now: router.now)
            call.expect()
            if carrier != nil { state.calls[providerCallID] = call }
            Task {
                await call.run()
                if carrier != nil { self.forget(providerCallID) }
                router.release()
            }
            return .taken(record.id)
        }
    }

    private func forget(_ providerCallID: String) {
        state.withLock { state in
            state.calls[providerCallID] = nil
            state.ended.append(providerCallID)
            if state.ended.count > Self.endedLimit { state.ended.removeFirst(state.ended.count - Self.endedLimit) }
        }
    }

    /// What the provider tells of a call; one that is not known changes nothing.
    public func take(_ report: CarrierReport) async { await state.withLock { $0.calls[report.callID] }?.take(report) }
}
