public import Foundation
public import Realtime
internal import Store
public import Tools

extension ToolMeans {
    /// Pieces of the knowledge that a model is told.
    private static let hitLimit = 5

    /// What a call has for the built-in tools.
    /// - Parameters:
    ///   - dialler: places calls back; nil: none are placed.
    ///   - knowledge: what the agent may tell; nil: there is none.
    public init(
        of call: Call, dialler: Dialler?, carriers: Carriers, settings: CallSettings, knowledge: (any Knowledge)?
    ) {
        self.init()
        if let dialler, !call.isForBrowser, settings.isEnabled {
            scheduleCall = { await dialler.callBack(call, $0, settings: settings, at: Date()) }
        }
        let plan = settings.routing.plan
        // Only to the other party, whose number comes from signalling.
        if let messenger = carriers.messenger, let to = plan.e164(call.remoteNumber),
            let from = plan.e164(call.localNumber)
        {
            sendSMS = { try await messenger.send($0, to: to, from: from) }
        }
        if let knowledge { search = { await knowledge.search($0, limit: Self.hitLimit) } }
    }
}

extension ToolValues {
    /// What templates are told of a call.
    /// - Parameter agent: the slug.
    public init(of call: Call, agent: String, settings: CallSettings, at now: Date) {
        let isInbound = call.direction == .inbound
        self.init(
            callID: call.id, direction: isInbound ? "inbound" : "outbound",
            caller: isInbound ? call.remoteNumber : call.localNumber,
            callee: isInbound ? call.localNumber : call.remoteNumber, agent: agent,
            timeZone: settings.policy.zones(of: call.remoteNumber).first ?? settings.policy.homeZone, now: now)
    }
}
