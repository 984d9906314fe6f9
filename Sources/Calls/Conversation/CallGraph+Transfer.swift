public import Bridge
internal import Pipeline
internal import Realtime

/// From the AI to a person, and back.
extension CallGraph {
    /// The caller is being handed over, or with a person: the AI does not talk meanwhile.
    var isTransferring: Bool { if case .agent = floor { false } else { true } }

    /// The other end of the leg of the person who talks with the caller.
    var partner: (any MediaStream)? { if case .person(let person) = floor { person } else { nil } }

    /// The call can be handed to an operator.
    var canTransfer: Bool { settings.policy.canTransfer }

    /// The session has announced it.
    func transfer() {
        guard !isOver, !isTransferring else { return }
        floor = .waiting(isAccepted: false)
        report(.transfer)
    }

    /// An operator wants the caller handed over. False: that cannot be done now.
    /// - Parameter isSomebodyThere: the person who takes the call is waiting already.
    public func requestTransfer(isSomebodyThere: Bool = false) -> Bool {
        guard !isOver, !isTransferring, canTransfer || isSomebodyThere, hasMedia, let session else { return false }
        session.transferRequested(at: now)
        return true
    }

    /// The caller hears music until a person or the AI talks with them again.
    public func playMusic() {
        guard isTransferring, !isOver, music == nil else { return }
        music = HoldMusic()
    }

    func playHoldMusic(_ now: Int) {
        guard let frame = music?.next() else { return }
        stream.send(.media(frame))
        recording?.ai(frame, startMs: now)
        tell(frame, .outbound)
    }

    /// The caller and the other end of this stream talk with each other from now on, until the stream closes.
    public func bridge(to person: any MediaStream) {
        guard isTransferring, !isOver else { return person.close() }
        music = nil
        partner?.close()
        if stream.isRemote { stream.send(.clear) }
        floor = .person(person)
        person.onMessage = { [unowned self] in self.said($0) }
        person.onClose = { [unowned self] _ in
            self.floor = .waiting(isAccepted: true)
            self.finish(.transferred)
        }
    }

    /// The person has sent the caller on; the caller waits for another person.
    public func detach() {
        partner?.onClose = nil
        partner?.onMessage = nil
        if partner != nil { floor = .waiting(isAccepted: false) }
        playMusic()
    }

    /// The person leaves the caller: the call is over.
    func dismissPerson() {
        partner?.onClose = nil
        partner?.close()
        if partner != nil { floor = .waiting(isAccepted: true) }
    }

    /// The person puts the caller on hold, or comes back.
    public func holdByPerson(_ isOnHold: Bool) {
        guard partner != nil else { return }
        music = isOnHold ? music ?? HoldMusic() : nil
    }

    /// From the person in the AI's place.
    private func said(_ message: MediaStreamMessage) {
        guard !isOver else { return }
        switch message {
        case .media(let frame):
            guard music == nil else { return }
            stream.send(.media(frame))
            levels.own(peak: frame.peak)
            recording?.person(frame, now: now)
            tell(frame, .outbound)
        case .dtmf(let digit): stream.send(.dtmf(digit))
        case .connected, .start, .mark, .clear, .stop: break
        }
    }

    /// The caller's telephone has put us on hold: nothing that we say is heard.
    public func setHeld(_ isHeld: Bool) { self.isHeld = isHeld }

    /// The far end is calling the operator: when it leaves us now, it has been transferred.
    public func transferAccepted() {
        if case .waiting = floor { floor = .waiting(isAccepted: true) }
    }

    /// The transfer came to nothing: the AI goes on with the conversation.
    public func transferFailed(_ reason: String) {
        guard isTransferring, !isOver else { return }
        floor = .agent
        music = nil
        if stream.isRemote { stream.send(.clear) }
        lastFrameAt = now
        report(.warning("the call could not be transferred: \(reason)"))
        session?.transferFailed(at: now)
    }

    /// The far end has hung up, or gone over to the operator.
    public func farEndLeft() {
        switch floor {
        case .agent, .waiting(isAccepted: false): finish(.calleeHangup)
        case .waiting(isAccepted: true), .person: finish(.transferred)
        }
    }
}
