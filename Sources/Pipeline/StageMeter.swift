internal import Foundation

/// Counts what a stage takes in and how long it takes. Owned by the code that runs the stage.
public struct StageMeter: Sendable {
    public private(set) var frames = 0
    private var timed = 0
    private var totalNs: UInt64 = 0
    private var worstNs: UInt64 = 0

    public init() {}

    /// Something was taken in; how long that takes is not known, or is told later by `took`.
    public mutating func count(_ frames: Int = 1) { self.frames &+= frames }

    public mutating func took(nanoseconds: UInt64) {
        timed &+= 1
        totalNs &+= nanoseconds
        if nanoseconds > worstNs { worstNs = nanoseconds }
    }

    public mutating func took(milliseconds: Int) { took(nanoseconds: UInt64(max(0, milliseconds)) &* 1_000_000) }

    public func reading(_ name: String, _ lane: Lane) -> StageReading {
        guard timed > 0 else { return StageReading(name: name, lane: lane, frames: frames) }
        return StageReading(
            name: name, lane: lane, frames: frames, meanMs: Self.milliseconds(Double(totalNs) / Double(timed)),
            worstMs: Self.milliseconds(Double(worstNs)))
    }

    /// To a tenth of a microsecond.
    private static func milliseconds(_ nanoseconds: Double) -> Double { (nanoseconds / 100).rounded() / 10_000 }

    /// Monotonic nanoseconds.
    @inline(__always) public static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}

/// A processor with a meter.
public struct Metered<Stage: Processor & ~Copyable>: Processor, ~Copyable {
    private var stage: Stage
    public private(set) var meter = StageMeter()

    public init(_ stage: consuming Stage) { self.stage = stage }

    public mutating func process(_ input: Stage.Input, into output: inout [Stage.Output]) throws {
        let start = StageMeter.now()
        defer {
            meter.count()
            meter.took(nanoseconds: StageMeter.now() &- start)
        }
        try stage.process(input, into: &output)
    }

    public mutating func flush() { stage.flush() }
    public mutating func finish(into output: inout [Stage.Output]) throws { try stage.finish(into: &output) }
}
