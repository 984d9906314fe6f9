/// Which way of holding the conversation comes next: modes are listed best first, and one that failed a moment ago is
/// tried after the others.
struct ModeChoice {
    /// Milliseconds for which a mode that failed is tried after all others.
    static let coolDownMs = 15_000
    /// Times that another mode takes over in one call.
    static let takeoverLimit = 6

    private let count: Int
    /// The mode in use.
    private(set) var current: Int?
    private var failedAt: [Int: Int] = [:]
    private var takeovers = 0

    /// - Parameter count: of the modes.
    init(count: Int) { self.count = count }

    /// The mode in use has failed.
    /// - Returns: whether another one may take over.
    mutating func failed(at now: Int) -> Bool {
        if let current { failedAt[current] = now }
        takeovers += 1
        return count > 1 && takeovers <= Self.takeoverLimit
    }

    /// The mode that is used from now on; nil: there is none.
    mutating func next(at now: Int) -> Int? {
        let others = (0..<count).filter { $0 != current }
        let rested = others.first { failedAt[$0].map { now - $0 >= Self.coolDownMs } ?? true }
        current = rested ?? others.min { failedAt[$0, default: 0] < failedAt[$1, default: 0] } ?? current
        return current
    }
}
