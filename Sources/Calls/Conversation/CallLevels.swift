internal import Foundation
public import Store
internal import Synchronization

/// How loud the two sides of a call are now, 0 to 100: 0 is -60 dBFS or less, 100 full scale. Written by the call, read
/// on any thread.
public final class CallLevels: Sendable {
    private static let range: Float = 60
    private let farLevel = Atomic<UInt8>(0), ownLevel = Atomic<UInt8>(0)

    public init() {}

    /// The callee or caller, and us.
    public var far: Int { Int(farLevel.load(ordering: .relaxed)) }
    public var own: Int { Int(ownLevel.load(ordering: .relaxed)) }

    /// - Parameter decibels: as the voice detector tells them.
    func far(decibels: Float) { farLevel.store(Self.level(decibels), ordering: .relaxed) }
    func far(peak: Int16) { farLevel.store(Self.level(Self.decibels(peak)), ordering: .relaxed) }
    func own(peak: Int16) { ownLevel.store(Self.level(Self.decibels(peak)), ordering: .relaxed) }
    func ownSilence() { if own > 0 { ownLevel.store(0, ordering: .relaxed) } }

    static func level(_ decibels: Float) -> UInt8 {
        guard decibels.isFinite else { return 0 }
        return UInt8(min(100, max(0, (decibels + range) / range * 100)))
    }
    private static func decibels(_ peak: Int16) -> Float { peak > 0 ? 20 * log10(Float(peak) / 32_768) : -.infinity }
}

/// The levels of all connected calls.
public final class LiveLevels: Sendable {
    private let calls = Mutex<[String: (company: CompanyID, levels: CallLevels)]>([:])

    public init() {}

    func begin(_ call: Call) -> CallLevels {
        let levels = CallLevels(), id = call.id, company = call.company
        calls.withLock { $0[id] = (company, levels) }
        return levels
    }
    func end(_ id: String) { calls.withLock { $0[id] = nil } }

    public func current(_ company: CompanyID) -> [(id: String, far: Int, own: Int)] {
        calls.withLock { calls in
            calls.compactMap { id, call in
                call.company == company ? (id, call.levels.far, call.levels.own) : nil
            }
        }
    }
}
