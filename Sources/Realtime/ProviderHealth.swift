internal import Foundation
internal import Synchronization

/// Which engines work: one that failed is not used for a while, longer each time.
public final class ProviderHealth: Sendable {
    /// Seconds after a first failure, doubled with each one more, and the most.
    static let coolDown = 20.0
    static let coolDownLimit = 300.0
    /// Seconds after a key was refused, as only a person can replace it.
    static let unauthorizedCoolDown = 600.0

    /// The state of an engine, for the operator.
    public struct Status: Sendable, Equatable {
        public var name: String
        public var failures: Int
        /// Seconds until it is asked again; 0: it is in use.
        public var coolDownSeconds: Double
        public var lastFailure: String?
    }

    private struct Entry {
        var failures = 0
        var until = 0.0
        var lastFailure: String?
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let now: @Sendable () -> Double

    /// - Parameter now: seconds on a clock that only goes forward.
    public init(now: @escaping @Sendable () -> Double = { ProviderHealth.uptime }) { self.now = now }

    /// Seconds since the machine started.
    public static var uptime: Double { ProcessInfo.processInfo.systemUptime }

    public func isUsable(_ name: String) -> Bool {
        let time = now()
        return entries.withLock { $0[name].map { $0.until <= time } ?? true }
    }

    public func succeeded(_ name: String) {
        entries.withLock { if $0[name]?.failures != 0 { $0[name]?.failures = 0 } }
    }

    public func failed(_ name: String, _ error: any Error) {
        let time = now()
        entries.withLock { entries in
            var entry = entries[name] ?? Entry()
            entry.failures = min(entry.failures + 1, 16)
            var seconds = min(Self.coolDownLimit, Self.coolDown * Double(1 << (entry.failures - 1)))
            switch (error as? SpeechError)?.kind {
            case .unauthorized: seconds = Self.unauthorizedCoolDown
            case .rateLimited(let told?): seconds = max(1, min(told, Self.coolDownLimit))
            default: break
            }
            entry.until = time + seconds
            entry.lastFailure = "\(error)"
            entries[name] = entry
        }
    }

    /// An engine that runs for a whole call with none beside it: its failure is noted and passed on.
    func watch(_ name: String, _ run: () async throws -> Void) async throws {
        do {
            try await run()
            succeeded(name)
        } catch is CancellationError { throw CancellationError() } catch {
            failed(name, error)
            throw error
        }
    }

    /// Runs engines of a kind, best first: when one fails, the next one goes on. Ends when an engine ends.
    /// - Parameters:
    ///   - kind: for the error's text, e.g. `voice`.
    ///   - body: runs one engine; calls `worked` when it has done a piece of work, so that all may be tried again.
    /// - Throws: `SpeechError` when all have failed since one worked.
    func run<Engine>(
        _ engines: [NamedEngine<Engine>], kind: String, report: EngineReport,
        _ body: (NamedEngine<Engine>, _ worked: () -> Void) async throws -> Void
    ) async throws {
        var tried: Set<String> = []
        while true {
            guard
                let next = order(engines).first(where: { !tried.contains($0.name) })
                    ?? engines.first(where: { !tried.contains($0.name) })
            else { throw SpeechError("no \(kind) works: \(tried.sorted().joined(separator: ", "))") }
            do {
                return try await body(next) {
                    succeeded(next.name)
                    tried.removeAll()
                }
            } catch is CancellationError { throw CancellationError() } catch {
                tried.insert(next.name)
                failed(next.name, error)
                report("\(error)")
            }
        }
    }

    /// The engines that may be used, in their order; if none may, all of them, so that at least one is tried.
    func order<Engine>(_ engines: [NamedEngine<Engine>]) -> [NamedEngine<Engine>] {
        let usable = engines.filter { isUsable($0.name) }
        return usable.isEmpty ? engines : usable
    }

    public func statuses(of names: [String]) -> [Status] {
        let time = now()
        return entries.withLock { entries in
            names.map { name in
                let entry = entries[name] ?? Entry()
                return Status(
                    name: name, failures: entry.failures, coolDownSeconds: max(0, entry.until - time),
                    lastFailure: entry.lastFailure)
            }
        }
    }
}

/// An engine under the name that health and messages know it by, e.g. `text-to-speech/cartesia`.
public struct NamedEngine<Engine: Sendable>: Sendable {
    public var name: String
    public var engine: Engine
    public init(_ name: String, _ engine: Engine) {
        self.name = name
        self.engine = engine
    }
}

/// Tells the operator that an engine failed and that another one took over.
public typealias EngineReport = @Sendable (_ message: String) -> Void
