/// A voice on this machine that a call can have its own way.
public protocol AdjustableSpeech: TextToSpeech {
    /// - Parameters:
    ///   - voice: one of its names; nil, or none of them: as it is.
    ///   - speed: 1 is the voice's own pace; nil: as it is.
    func adjusted(voice: String?, speed: Double?) -> any TextToSpeech
}

extension Double {
    func clamped(to range: ClosedRange<Double>) -> Double { min(max(self, range.lowerBound), range.upperBound) }
}
