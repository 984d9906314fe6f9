internal import Foundation

/// Sample-rate conversion by a whole ratio: a linear-phase FIR filter (a sinc with a Kaiser window), mono 16-bit.
///
/// 20 ms in are 20 ms out from the first frame on: what comes out is 2 ms late (15 samples of the narrower rate) and
/// begins with as much silence. Images and aliases lie 70 dB below; the transition is 85 % to 115 % of the narrower
/// Nyquist rate.
struct RatioFilter {
    /// Samples of the narrower rate on either side of the middle.
    private static let reach = 15
    /// Kaiser's β for 70 dB (0.1102 (A − 8.7)).
    private static let beta = 6.76
    /// Bits of the coefficients behind the point: sums of products stay within 32 bits.
    private static let shift: Int32 = 14
    /// Ratios that are made: 8 kHz and 16, 24, 32, 40, 48 or 64 kHz, and those among each other.
    static let ratios = 2...8

    /// Samples out of one in, and samples in for one out; one of them is 1.
    private let phases: Int
    private let step: Int
    /// How much later than it went in the sound comes out, ms.
    let lateMs: Double
    /// Coefficients of a phase.
    private let window: Int
    private let coefficients: [Int16]
    /// The last samples, oldest first, and room for a frame behind them.
    private var samples: [Int16]
    /// Samples in until the next one out.
    private var wait: Int

    /// nil: the rates are no whole multiples of each other.
    init?(from: Int32, to: Int32) {
        let (wide, narrow) = (max(from, to), min(from, to))
        guard narrow > 0, wide % narrow == 0, Self.ratios.contains(Int(wide / narrow)) else { return nil }
        let ratio = Int(wide / narrow)
        let isWidening = to > from
        lateMs = Double(Self.reach) * 1_000 / Double(narrow)
        phases = isWidening ? ratio : 1
        step = isWidening ? 1 : ratio
        let length = 2 * Self.reach * ratio
        window = length / phases
        coefficients = Self.coefficients(length, ratio: ratio, phases: phases)
        samples = Array(repeating: 0, count: window - 1 + AudioFrame.capacity)
        wait = step - 1
    }

    /// By phases; within each in the order of the samples.
    private static func coefficients(_ length: Int, ratio: Int, phases: Int) -> [Int16] {
        let middle = Double(length - 1) / 2
        let response = (0..<length).map { index -> Double in
            let at = (Double(index) - middle) / Double(ratio)
            let sinc = at == 0 ? 1 : sin(.pi * at) / (.pi * at)
            let place = (Double(index) - middle) / (Double(length) / 2)
            return sinc * bessel(beta * (1 - place * place).squareRoot())
        }
        let window = length / phases
        var all: [Int16] = []
        for phase in 0..<phases {
            let own = (0..<window).map { response[phase + (window - 1 - $0) * phases] }
            // A constant keeps its value in each phase.
            let scale = Double(1 << shift) / own.reduce(0, +)
            all += own.map { Int16(($0 * scale).rounded()) }
        }
        return all
    }

    /// The modified Bessel function of the first kind, order 0.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        for index in 1...40 {
            term *= (x / 2 / Double(index)) * (x / 2 / Double(index))
            sum += term
        }
        return sum
    }

    mutating func clear() {
        for index in samples.indices { samples[index] = 0 }
        wait = step - 1
    }

    mutating func process(
        _ input: UnsafeBufferPointer<Int16>, rate: Int32, turn: Int32, into output: inout [AudioFrame]
    ) {
        let most = AudioFrame.capacity / phases
        var rest = input
        while !rest.isEmpty {
            let piece = UnsafeBufferPointer(rebasing: rest[..<min(most, rest.count)])
            rest = UnsafeBufferPointer(rebasing: rest[piece.count...])
            var frame = AudioFrame(sampleRate: rate, turn: turn)
            frame.fill { filter(piece, into: $0) }
            if frame.count > 0 { output.append(frame) }
        }
    }

    private mutating func filter(
        _ piece: UnsafeBufferPointer<Int16>, into target: UnsafeMutableBufferPointer<Int16>
    ) -> Int {
        let (phases, step, window, coefficients) = (phases, step, window, coefficients)
        var wait = wait
        var made = 0
        coefficients.withUnsafeBufferPointer { coefficients in
            samples.withUnsafeMutableBufferPointer { samples in
                for index in piece.indices { samples[window - 1 + index] = piece[index] }
                for index in piece.indices {
                    guard wait == 0 else {
                        wait -= 1
                        continue
                    }
                    wait = step - 1
                    for phase in 0..<phases {
                        var sum: Int32 = 1 << (Self.shift - 1)
                        for tap in 0..<window {
                            sum &+= Int32(coefficients[phase &* window &+ tap]) &* Int32(samples[index &+ tap])
                        }
                        target[made] = Int16(clamping: sum >> Self.shift)
                        made += 1
                    }
                }
                for index in 0..<(window - 1) { samples[index] = samples[piece.count + index] }
            }
        }
        self.wait = wait
        return made
    }
}
