import Synchronization

/// What an edge reports of itself.
public struct EdgeReading: Sendable, Equatable {
    public var name: String
    /// Payloads queued now, and the most there ever were.
    public var depth: Int
    public var peakDepth: Int
    public var limit: Int
    /// Milliseconds the oldest queued payload has waited.
    public var oldestMs: Int
    public var sent: Int
    public var dropped: Int
}

/// Durations of one step of a call, kept as a bounded sample so that quantiles are exact for a call's worth of turns.
public final class Meter: Sendable {
    /// More than the turns of the longest call.
    public static let sampleLimit = 4_096

    public let name: String
    private let samples = Mutex<[Double]>([])

    public init(_ name: String) { self.name = name }

    /// Milliseconds. Past the limit the oldest sample goes.
    public func record(_ milliseconds: Double) {
        samples.withLock {
            if $0.count >= Self.sampleLimit { $0.removeFirst() }
            $0.append(milliseconds)
        }
    }

    public var count: Int { samples.withLock { $0.count } }

    /// The value below which `fraction` (0...1) of the samples lie; nil without samples.
    public func quantile(_ fraction: Double) -> Double? {
        samples.withLock { Self.quantile(fraction, of: $0) }
    }

    /// Nearest-rank quantile.
    public static func quantile(_ fraction: Double, of samples: [Double]) -> Double? {
        guard !samples.isEmpty else { return nil }
        let sorted = samples.sorted()
        let rank = (min(max(fraction, 0), 1) * Double(sorted.count)).rounded(.up)
        return sorted[min(max(0, Int(rank) - 1), sorted.count - 1)]
    }
}
