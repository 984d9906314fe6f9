public import Foundation
internal import Problems
internal import Realtime
internal import Store
public import Tools

/// The call that a model arranges with the other party (`schedule_callback`).
struct CallBackRule: Sendable {
    /// Seconds from now to the call: at least, and at most.
    static let earliest = 60.0, latest = 60.0 * 86_400

    let settings: CallSettings
    let now: Date

    /// The call to be placed: to the same party, with the same brief, within the calling hours of its zone.
    /// - Throws: in words for the model.
    func call(of call: Call, _ wish: ToolMeans.Callback) throws(Refusal) -> Call {
        let wait = wish.at.timeIntervalSince(now)
        guard wait >= Self.earliest else { throw Refusal(words: "the time is over, or too near") }
        guard wait <= Self.latest else { throw Refusal(words: "the time is too far away") }
        guard !call.isForBrowser, (try? settings.routing.route(to: call.remoteNumber)) != nil else {
            throw Refusal(words: "this number cannot be called back")
        }
        guard let at = settings.policy.opening(for: call.remoteNumber, from: wish.at) else {
            throw Refusal(words: "nobody may be called at that time")
        }
        var brief = call.brief
        if call.direction == .inbound, !wish.reason.isEmpty { brief.purpose = wish.reason }
        brief.isIncoming = nil
        var next = Call(
            localNumber: call.localNumber, remoteNumber: call.remoteNumber, brief: brief,
            maxDuration: call.maxDuration, priority: call.priority, scheduledAt: at,
            retryOnNoAnswer: call.retryOnNoAnswer, maxRetries: call.maxRetries, metadata: call.metadata,
            requestedBy: call.requestedBy, webhookURL: call.webhookURL, voicemail: call.voicemail,
            stream: call.stream, createdAt: now)
        next.company = call.company
        next.agent = call.agent
        next.profile = call.profile
        next.order = call.order
        return next
    }

    struct Refusal: Error, Equatable { var words: String }
}

extension Dialler {
    /// Places a call back for a call in progress.
    /// - Parameter settings: as the dialler has them.
    public func callBack(_ call: Call, _ wish: ToolMeans.Callback, settings: CallSettings, at now: Date) async
        -> ToolMeans.CallbackAnswer
    {
        do throws(CallBackRule.Refusal) {
            let next = try CallBackRule(settings: settings, now: now).call(of: call, wish)
            return await place(next, after: call, at: now)
        } catch { return .refused(error.words) }
    }

    private func place(_ next: Call, after call: Call, at now: Date) async -> ToolMeans.CallbackAnswer {
        let audit = AuditEntry(at: now, actor: "agent", action: "call.callback", target: next.id, detail: call.id)
        do throws(StoreError) {
            switch try await create(next, audit: audit) {
            case .stored: return .scheduled(next.scheduledAt ?? now)
            case .blocked: return .refused("this number cannot be called back at that time")
            case .overQuota: return .refused("no more calls can be made for now")
            case .known, .keyIsTaken: return .refused("there is such a call already")
            }
        } catch { return .refused("no call can be arranged now") }
    }
}
