internal import Agents
public import Foundation
public import Net
internal import Realtime
internal import Store
internal import Synchronization

/// Decides what is done with a call that comes in, by SIP or by a provider: whose number it is for, what the AI is to
/// do there, and whether there is room. Nothing here waits: the SIP thread asks too.
public final class InboundRouter: Sendable {
    private struct State {
        /// nil: not ready to answer yet.
        var line: CallLine?
        var live = 0
        var next = 0
        var isStopping = false
    }

    let loops: [EventLoop]
    let settings: CallSettings
    let operators: OperatorDirectory
    let now: @Sendable () -> Date
    private let numbers: NumberDirectory
    private let state = Mutex(State())

    public init(
        loops: [EventLoop], settings: CallSettings, operators: OperatorDirectory, numbers: NumberDirectory,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.loops = loops
        self.settings = settings
        self.operators = operators
        self.numbers = numbers
        self.now = now
    }

    /// From now on calls are answered; before, callers are told to try again.
    public func open(_ line: CallLine) { state.withLock { $0.line = line } }
    /// No more calls are taken; those in progress go on.
    public func close() { state.withLock { $0.isStopping = true } }

    public var liveCount: Int { state.withLock { $0.live } }

    /// Why a call is not answered.
    public enum Refusal: Error, Sendable {
        /// The number is neither the AI's nor an operator's: 404 in SIP.
        case unknownNumber
        /// There is no room, or nothing is answered yet or any more: 503 in SIP, busy elsewhere.
        case busy
    }

    /// What is done with the callers of a number.
    struct Destination {
        /// Whom the number belongs to; nil: it is the AI's.
        var person: Operator?
        /// What the AI is to do, as far as no agent says it.
        var brief: Brief
        /// Who answers; nil: the configuration does.
        var agent: AgentVersion?
    }

    /// - Parameter number: as dialled; nil: the carrier does not tell it, and the settings for all numbers hold.
    func destination(of number: String?) throws(Refusal) -> Destination {
        let inbound = settings.inbound
        guard inbound.isEnabled else { throw .unknownNumber }
        guard let number else { return Destination(brief: inbound.brief, agent: usualAgent) }
        let known = operators.with(number: number)
        let own = numbers.brief(for: number, base: inbound.brief), agent = numbers.agent(for: number)
        if known == nil, own == nil, agent == nil, let listed = inbound.numbers {
            let plan = settings.routing.plan
            let key = plan.key(number)
            guard listed.contains(where: { plan.key($0) == key }) else { throw .unknownNumber }
        }
        var brief = own ?? inbound.brief
        if let known {
            brief.greetingTemplate =
                known.awayMessage ?? SpokenText.away(operator: known.name, language: brief.language)
        }
        return Destination(person: known, brief: brief, agent: agent ?? (own == nil ? usualAgent : nil))
    }

    /// `inbound.agent`
    private var usualAgent: AgentVersion? {
        settings.inbound.agent.flatMap(AgentName.init).flatMap { numbers.agents.version($0, of: .default) }
    }

    /// Whose days and hours an agent's texts tell.
    var zone: TimeZone { numbers.agents.environment.timeZone }

    /// Takes a place for a call, which `release` gives back.
    func admit() throws(Refusal) -> (line: CallLine, loop: EventLoop) {
        let admitted = state.withLock { state -> (CallLine, EventLoop)? in
            guard let line = state.line, !state.isStopping, state.live < settings.inbound.maxConcurrentCalls,
                !loops.isEmpty
            else { return nil }
            state.live += 1
            state.next = (state.next + 1) % loops.count
            return (line, loops[state.next])
        }
        guard let admitted else { throw .busy }
        return admitted
    }

    func release() { state.withLock { $0.live -= 1 } }
}
