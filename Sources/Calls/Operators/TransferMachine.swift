/// A transfer to a person, decided: events in, actions out. `WarmTransfer` carries the actions out.
///
///     idle ─▶ announcing ─▶ asking (the carrier's own way: REFER, <Dial>)            ─▶ over
///                  │  └───▶ withGuest (a person at a separate stream)                ─▶ over
///                  └──────▶ ringing ─▶ briefing ─▶ bridged ─▶ ringing (sent on) …    ─▶ over
///     idle ─▶ ringing (before the caller's call is answered) ─▶ waiting ─▶ bridged
///
/// Whatever fails leads back to `idle`: the AI has the caller again. Times are milliseconds of the loop's clock. Calls
/// to persons are known by a number each (`Person.leg`).
struct TransferMachine {
    /// Persons that one transfer tries.
    static let targetLimit = 10
    /// Milliseconds: the voice has 10 s to begin the briefing, which lasts a minute at most. Then the person is joined
    /// even if the briefing has not ended.
    static let briefingLimitMs: UInt64 = 90_000

    /// Who is to take the caller.
    enum Wish: Equatable {
        /// - mode: nil: as configured.
        case operators(TransferChoice, CallSettings.TransferMode?)
        /// A person at a separate stream.
        case guest(String)
    }

    struct Person: Equatable {
        var leg: Int
        var target: TransferTarget
    }

    /// One person rings, or is told what it is about.
    struct Attempt: Equatable {
        var person: Person
        var deadline: UInt64
        /// The people to ring next.
        var rest: [TransferTarget]
        var course: Course
    }

    /// What goes on from one person to the next.
    struct Course: Equatable {
        /// The person who answered hears the briefing before the two are joined.
        var isBriefed = false
        /// The caller's call is not answered yet.
        var isEarly = false
        /// Who wants the caller sent on, until that has worked.
        var referrer: Referrer?
        /// Why those before did not take it.
        var reasons: [String] = []
    }

    struct Referrer: Equatable {
        var person: Person
        var reference: UInt32
    }

    enum State: Equatable {
        /// The AI has the caller, or the call is not answered yet.
        case idle
        /// The caller is being told.
        case announcing(Wish)
        /// The carrier transfers the call by its own means.
        case asking(deadline: UInt64)
        case ringing(Attempt)
        case briefing(Attempt)
        /// A person has answered, and the caller's call is not answered yet.
        case waiting(Person)
        /// A person talks with the caller.
        case bridged(Person)
        case withGuest
        /// The caller has left, or the person on the other side.
        case over
    }

    enum Event: Equatable {
        /// A transfer is requested. The caller is told first.
        case wished(Wish)
        /// The caller cannot be told now.
        case cannotAnnounce
        /// The caller has been told. `targets`: the persons who may be rung now.
        case announced(targets: [TransferTarget])
        /// Before the answer: this person is to be rung.
        case early(TransferTarget)
        /// The caller's call is answered and joined with the waiting person.
        case callerAnswered
        /// The person at a separate stream has left.
        case guestLeft
        /// What becomes of the carrier's own way: it is on it, it has done it, or not.
        case carrierAccepted
        case carrierFinished
        case carrierFailed(String)
        /// Of the call to a person.
        case answered(Int)
        case failed(Int, String)
        case briefed(Int)
        case held(Int, Bool)
        /// The person wants the caller sent on. `to`: nil: to an address that we do not know.
        case referral(Int, reference: UInt32, to: TransferTarget?)
        case left(Int)
        case callerLeft
        case tick
    }

    enum Action: Equatable {
        /// The carrier is to transfer the call by its own means; if it cannot, `carrierFailed` follows.
        case ask(TransferChoice)
        case playMusic
        /// Calls a person's telephones.
        case ring(Person)
        /// Gives up what there is of the call to a person.
        case drop(Int)
        case brief(Person)
        /// He and the caller talk with each other from now on.
        case join(Int)
        case joinGuest
        case hold(Bool)
        /// The caller waits for another person.
        case detach
        /// Tells the person who sends the caller on how that goes (RFC 3515).
        case report(Int, status: Int, reference: UInt32)
        /// For the call's record.
        case note(name: String, operatorID: String?, Call.Transfer.Outcome, reason: String?)
        /// A far end that leaves now has been transferred.
        case accepted
        /// It has.
        case finish
        /// The caller is the AI's again.
        case giveBack(String)
        /// Of an early ring: the person who takes the call; nil: none does.
        case decided(Int?)
    }

    private(set) var state = State.idle
    private let mode: CallSettings.TransferMode
    private let askLimitMs: UInt64
    private var lastLeg = 0

    /// - Parameters:
    ///   - mode: of a wish that names none.
    ///   - askLimitMs: milliseconds for the carrier's own way.
    init(mode: CallSettings.TransferMode, askLimitMs: UInt64) {
        self.mode = mode
        self.askLimitMs = askLimitMs
    }

    /// When `tick` is due; nil: nothing is awaited.
    var deadline: UInt64? {
        switch state {
        case .asking(let deadline): deadline
        case .ringing(let attempt), .briefing(let attempt): attempt.deadline
        case .idle, .announcing, .waiting, .bridged, .withGuest, .over: nil
        }
    }

    /// Who is wanted, while the caller is being told.
    var choice: TransferChoice {
        if case .announcing(.operators(let choice, _)) = state { choice } else { .anyOperator }
    }

    mutating func handle(_ event: Event, at now: UInt64) -> [Action] {
        if case .callerLeft = event { return callerLeft() }
        switch state {
        case .idle: return idle(event, now)
        case .announcing(let wish): return announcing(wish, event, now)
        case .asking(let deadline): return asking(deadline, event, now)
        case .ringing(let attempt): return ringing(attempt, event, now)
        case .briefing(let attempt): return briefing(attempt, event, now)
        case .waiting(let person): return waiting(person, event)
        case .bridged(let person): return bridged(person, event, now)
        case .withGuest, .over: return []
        }
    }

    // MARK: The AI has the caller

    private mutating func idle(_ event: Event, _ now: UInt64) -> [Action] {
        switch event {
        case .wished(let wish):
            state = .announcing(wish)
            return []
        // The model's own wish.
        case .announced(let targets): return begin(.operators(.anyOperator, nil), targets, now)
        case .early(let target): return next([target], Course(isEarly: true), now)
        // Later than we waited for it, and done all the same.
        case .carrierFinished:
            state = .over
            return [.finish]
        default: return []
        }
    }

    private mutating func announcing(_ wish: Wish, _ event: Event, _ now: UInt64) -> [Action] {
        switch event {
        case .wished(let newer):
            if case .guest = wish { return [] }
            state = .announcing(newer)
            return []
        case .cannotAnnounce:
            state = .idle
            return []
        case .guestLeft:
            if case .guest = wish { state = .idle }
            return []
        case .announced(let targets): return begin(wish, targets, now)
        default: return []
        }
    }

    private mutating func begin(_ wish: Wish, _ targets: [TransferTarget], _ now: UInt64) -> [Action] {
        switch wish {
        case .guest(let name):
            state = .withGuest
            return [
                .note(name: name, operatorID: nil, .ringing, reason: nil),
                .note(name: name, operatorID: nil, .connected, reason: nil), .joinGuest,
            ]
        case .operators(let choice, let wanted):
            guard (wanted ?? mode) == .attended, !targets.isEmpty else {
                state = .asking(deadline: now + askLimitMs)
                return [.ask(choice)]
            }
            return [.playMusic] + next(Array(targets.prefix(Self.targetLimit)), Course(isBriefed: true), now)
        }
    }

    private mutating func asking(_ deadline: UInt64, _ event: Event, _ now: UInt64) -> [Action] {
        switch event {
        case .carrierAccepted: return [.accepted]
        case .carrierFinished:
            state = .over
            return [.finish]
        case .carrierFailed(let reason):
            state = .idle
            return [.giveBack(reason)]
        case .tick where now >= deadline:
            state = .idle
            return [.giveBack("nobody answered")]
        default: return []
        }
    }

    // MARK: A person rings

    /// The next one is rung; where none is left, the transfer has failed.
    private mutating func next(_ targets: [TransferTarget], _ course: Course, _ now: UInt64) -> [Action] {
        guard let target = targets.first else { return noTargetLeft(course) }
        lastLeg += 1
        let person = Person(leg: lastLeg, target: target)
        state = .ringing(
            Attempt(
                person: person, deadline: now + UInt64(clamping: max(1, target.ringSeconds)) * 1_000,
                rest: Array(targets.dropFirst()), course: course))
        return [.note(name: target.name, operatorID: target.operatorID, .ringing, reason: nil), .ring(person)]
    }

    /// A further transfer failed while the first person was still there: caller and person stay joined.
    private mutating func noTargetLeft(_ course: Course) -> [Action] {
        if let referrer = course.referrer {
            state = .bridged(referrer.person)
            return [
                .report(referrer.person.leg, status: 480, reference: referrer.reference), .join(referrer.person.leg),
            ]
        }
        state = .idle
        return course.isEarly ? [.decided(nil)] : [.giveBack(course.reasons.joined(separator: "; "))]
    }

    private mutating func failed(_ attempt: Attempt, _ reason: String, _ now: UInt64) -> [Action] {
        let target = attempt.person.target
        var course = attempt.course
        course.reasons.append("\(target.name): \(reason)")
        return [
            .note(name: target.name, operatorID: target.operatorID, .failed, reason: reason),
            .drop(attempt.person.leg),
        ] + next(attempt.rest, course, now)
    }

    /// The person who sends the caller on has hung up meanwhile; nil: that is not what happened.
    private static func referrerLeft(_ event: Event, _ attempt: inout Attempt) -> [Action]? {
        guard let referrer = attempt.course.referrer, event == .left(referrer.person.leg) else { return nil }
        attempt.course.referrer = nil
        return [.drop(referrer.person.leg)]
    }

    private mutating func ringing(_ attempt: Attempt, _ event: Event, _ now: UInt64) -> [Action] {
        var attempt = attempt
        if let actions = Self.referrerLeft(event, &attempt) {
            state = .ringing(attempt)
            return actions
        }
        switch event {
        case .answered(attempt.person.leg):
            guard attempt.course.isBriefed else { return join(attempt) }
            attempt.deadline = now + Self.briefingLimitMs
            state = .briefing(attempt)
            return [.brief(attempt.person)]
        case .failed(attempt.person.leg, let reason): return failed(attempt, reason, now)
        case .left(attempt.person.leg): return failed(attempt, "hung up", now)
        case .tick where now >= attempt.deadline: return failed(attempt, "nobody answered", now)
        default: return []
        }
    }

    private mutating func briefing(_ attempt: Attempt, _ event: Event, _ now: UInt64) -> [Action] {
        switch event {
        case .briefed(attempt.person.leg): return join(attempt)
        case .left(attempt.person.leg): return failed(attempt, "hung up", now)
        case .tick where now >= attempt.deadline: return join(attempt)
        default: return []
        }
    }

    private mutating func join(_ attempt: Attempt) -> [Action] {
        let person = attempt.person
        let noted = Action.note(
            name: person.target.name, operatorID: person.target.operatorID, .connected, reason: nil)
        guard !attempt.course.isEarly else {
            state = .waiting(person)
            return [noted, .decided(person.leg)]
        }
        state = .bridged(person)
        guard let referrer = attempt.course.referrer else { return [noted, .join(person.leg)] }
        return [
            noted, .report(referrer.person.leg, status: 200, reference: referrer.reference),
            .drop(referrer.person.leg), .join(person.leg),
        ]
    }

    // MARK: A person is there

    private mutating func waiting(_ person: Person, _ event: Event) -> [Action] {
        switch event {
        case .callerAnswered:
            state = .bridged(person)
            return []
        case .left(person.leg):
            state = .idle
            return [.drop(person.leg)]
        case .referral(person.leg, let reference, _): return [.report(person.leg, status: 480, reference: reference)]
        default: return []
        }
    }

    private mutating func bridged(_ person: Person, _ event: Event, _ now: UInt64) -> [Action] {
        switch event {
        case .held(person.leg, let isHeld): return [.hold(isHeld)]
        case .left(person.leg):
            state = .over
            return [.drop(person.leg)]
        case .referral(person.leg, let reference, let target):
            guard let target, !target.routes.isEmpty else {
                return [.report(person.leg, status: 404, reference: reference)]
            }
            let course = Course(referrer: Referrer(person: person, reference: reference))
            return [.report(person.leg, status: 100, reference: reference), .detach] + next([target], course, now)
        default: return []
        }
    }

    private mutating func callerLeft() -> [Action] {
        defer { state = .over }
        switch state {
        case .idle, .announcing, .asking, .withGuest, .over: return []
        case .ringing(let attempt), .briefing(let attempt):
            return [.drop(attempt.person.leg)] + (attempt.course.referrer.map { [.drop($0.person.leg)] } ?? [])
        case .waiting(let person), .bridged(let person): return [.drop(person.leg)]
        }
    }
}
