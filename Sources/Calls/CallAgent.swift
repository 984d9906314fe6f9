public import Agents
public import Foundation
public import Realtime
internal import Store

/// The layers of a call: configuration ← agent ← request.
extension Call {
    /// Takes over what a version of an agent says, but for the members that the request has named itself.
    ///
    /// - Parameters:
    ///   - base: what holds where the agent says nothing.
    ///   - duration: seconds, likewise.
    ///   - now: what `{{now}}` is.
    public mutating func take(
        _ version: AgentVersion, _ order: AgentOrder, over base: Brief, duration: Int, in settings: CallSettings,
        zone: TimeZone, at now: Date
    ) {
        let isGiven = order.given.contains
        let language = isGiven("language") ? brief.language : version.language ?? base.language
        let facts = AgentCallFacts(
            id: id, direction: direction.rawValue, caller: callerNumber, callee: calledNumber, at: now, timeZone: zone,
            language: language)
        let made = version.brief(for: facts, variables: order.variables)
        agent = version.reference
        profile = made.profile
        self.order = order
        brief.language = language
        if !isGiven("purpose") { brief.purpose = made.purpose ?? base.purpose }
        if !isGiven("questions") {
            // Questions belong to a purpose: those of the configuration are none of an agent with another purpose.
            brief.questions = made.purpose == nil && made.questions.isEmpty ? base.questions : made.questions
            answers = TaskTracker(questions: brief.questions).answers
        }
        brief.facts = made.facts.isEmpty ? base.facts : made.facts
        brief.maxTurns = made.profile.maxTurns ?? base.maxTurns
        brief.greetingTemplate = base.greetingTemplate
        brief.closingTemplate = base.closingTemplate
        if !isGiven("max_duration") {
            maxDuration = min(made.maxDuration ?? duration, settings.maxCallDuration)
        }
        var policy = VoicemailPolicy(
            action: made.voicemailAction.flatMap(VoicemailAction.init), message: made.voicemailMessage)
        if isGiven("voicemail") { policy.action = voicemail?.action }
        if isGiven("voicemail_message") { policy.message = voicemail?.message }
        voicemail = policy.action == nil && policy.message == nil ? nil : policy
    }

    /// Of a call that came in: who answers it.
    mutating func take(_ destination: InboundRouter.Destination, in settings: CallSettings, zone: TimeZone) {
        guard let agent = destination.agent else { return }
        var base = brief
        // The configuration's greeting tells of its own purpose.
        if agent.hasPurpose, destination.person == nil { base.greetingTemplate = nil }
        take(
            agent, AgentOrder(), over: base, duration: settings.maxCallDuration, in: settings, zone: zone,
            at: createdAt)
        // Callers of a person are told first that the person cannot be reached.
        if destination.person != nil { profile?.firstMessage = nil }
    }

    /// The configuration's brief for calls that we place.
    public static func brief(of settings: CallSettings) -> Brief {
        Brief(
            purpose: "", questions: [], language: settings.language, maxTurns: settings.maxTurns,
            greetingTemplate: settings.greetingTemplate, closingTemplate: settings.closingTemplate)
    }

    /// Seconds of a call whose request names none.
    public static let usualDuration = 180
}
