internal import Realtime

/// Keeps a session with a speech model: opens it, opens it again when it breaks, and replaces it in a quiet moment
/// before its time is up. Confined to the call's loop.
final class SessionKeeper {
    struct Handlers {
        /// Sound may be sent.
        var ready: () -> Void
        /// There is no session for now.
        var lost: () -> Void
        /// There will be none.
        var gaveUp: (_ reason: String) -> Void
        var event: (SpeechSessionEvent) -> Void
        var audio: (UnsafeBufferPointer<UInt8>, _ item: Int) -> Void
        /// Neither side speaks, and no answer is on its way.
        var isQuiet: () -> Bool
        /// A new session; the handle is of the one before.
        var open: (_ resumptionHandle: String?) -> any SpeechSession
        /// Milliseconds since the answer.
        var now: () -> Int
    }

    /// nil once the session has stopped.
    var handlers: Handlers?
    private(set) var session: (any SpeechSession)?
    private let policy: ConversationPolicy
    /// A session that takes over as soon as it is ready.
    private var successor: (any SpeechSession)?
    private var isExpiring = false
    private var reopenAt: Int?
    private var failures = 0
    private var lastHandle: String?

    init(policy: ConversationPolicy) { self.policy = policy }

    func start() { session = open() }

    /// A response was complete: what failed before is forgotten.
    func succeeded() { failures = 0 }

    /// Once a tick.
    func tick() {
        // Most ticks have nothing to do: the handlers are not copied for them.
        guard reopenAt != nil || isExpiring, let handlers else { return }
        if let at = reopenAt, handlers.now() >= at {
            reopenAt = nil
            session = open()
        }
        if isExpiring, successor == nil, handlers.isQuiet() { successor = open() }
    }

    /// The session does not answer.
    func restart(_ reason: String) {
        session?.close()
        lost(reason, isFatal: false)
    }

    func stop() {
        handlers = nil
        session?.close()
        session = nil
        successor?.close()
        successor = nil
    }

    private func open() -> (any SpeechSession)? {
        guard let session = handlers?.open(self.session?.resumptionHandle ?? lastHandle) else { return nil }
        // The sessions are this object's, and say nothing more once they are closed.
        let identity = ObjectIdentifier(session)
        session.onEvent = { [unowned self] event in
            if self.session.map(ObjectIdentifier.init) == identity {
                self.happened(event)
            } else {
                self.successorSays(event)
            }
        }
        session.onAudio = { [unowned self] bytes, item in
            guard self.session.map(ObjectIdentifier.init) == identity else { return }
            self.handlers?.audio(bytes, item)
        }
        return session
    }

    private func happened(_ event: SpeechSessionEvent) {
        switch event {
        case .ready: handlers?.ready()
        case .expiring: isExpiring = true
        case .closed(let reason, let isFatal): lost(reason, isFatal: isFatal)
        default: handlers?.event(event)
        }
    }

    private func lost(_ reason: String, isFatal: Bool) {
        lastHandle = session?.resumptionHandle ?? lastHandle
        session = nil
        handlers?.lost()
        failures += 1
        guard !isFatal, failures <= policy.reconnects else { return handlers?.gaveUp(reason) ?? () }
        reopenAt = handlers.map { $0.now() + policy.reconnectDelayMs << (failures - 1) }
    }

    /// The successor takes the place of the session whose time is running out, unless one side has begun to speak
    /// meanwhile: what the caller says, and the answer to it, belong to the old session.
    private func successorSays(_ event: SpeechSessionEvent) {
        switch event {
        case .ready:
            guard let next = successor else { return }
            successor = nil
            guard handlers?.isQuiet() == true else { return next.close() }
            session?.close()
            session = next
            isExpiring = false
            handlers?.ready()
        case .closed: successor = nil  // tried again at the next quiet moment
        default: break
        }
    }
}
