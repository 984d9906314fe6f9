/// Quantiles of a sample.
public enum Quantile {
    /// The value at or below which `fraction` (0...1) of the samples lie (nearest rank); nil without samples.
    public static func of(_ samples: [Double], _ fraction: Double) -> Double? {
        guard !samples.isEmpty else { return nil }
        let sorted = samples.sorted()
        let rank = (min(max(fraction, 0), 1) * Double(sorted.count)).rounded(.up)
        return sorted[min(max(0, Int(rank) - 1), sorted.count - 1)]
    }
}
