internal import Net

/// A stream that should not be let in: it begins as any other, and what becomes of it is watched. Confined to its loop.
final class TokenTrial {
    private let socket: any MessageSocket
    private let limitMs: UInt64
    private var done: ((StreamFacts.Trial) -> Void)?
    private var line: CarrierLine?
    private var keeper: TokenTrial?

    init(_ socket: any MessageSocket, limitMs: UInt64, _ done: @escaping (StreamFacts.Trial) -> Void) {
        self.socket = socket
        self.limitMs = limitMs
        self.done = done
    }

    /// False: the dialect cannot be spoken, and nothing will be reported.
    func begin(_ dialect: any MediaStreamDialect.Type, _ options: DialectOptions, _ start: StreamStart) -> Bool {
        let observed = ObservedSocket(socket) { _, _, _ in }
        guard let line = try? CarrierLine(observed, dialect, options, start) else { return false }
        keeper = self
        self.line = line
        let begun = socket.loop.timeMs
        line.onSound = { [unowned self] in self.report(.talked) }
        line.onTick = { [unowned self] now in
            guard now >= begun + self.limitMs else { return }
            self.report(.stayedOpen(ms: self.limitMs))
        }
        let close = observed.onClose
        // Held until the connection is gone.
        observed.onClose = { [self, observed] code, reason in
            let now = observed.loop.timeMs
            self.report(.closed(code: code, afterMs: now - min(now, begun)))
            close?(code, reason)
            observed.onClose = nil
            self.line = nil
            self.keeper = nil
        }
        line.begin(after: 0)
        return true
    }

    private func report(_ outcome: StreamFacts.Trial) {
        guard let done else { return }
        self.done = nil
        line?.end()
        done(outcome)
        socket.close(code: 1_000)
    }
}
