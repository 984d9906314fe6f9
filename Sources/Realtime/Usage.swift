internal import Synchronization

/// What is counted of an engine or carrier, in the units that are charged for.
public enum UsageUnit: String, Sendable, Codable, CaseIterable {
    /// Of sound heard, or of a line's use.
    case milliseconds
    /// Of text spoken.
    case characters
    case inputTokens = "input_tokens"
    case cachedInputTokens = "cached_input_tokens"
    case outputTokens = "output_tokens"
    case audioInputTokens = "audio_input_tokens"
    case audioOutputTokens = "audio_output_tokens"
}

/// Tokens of one response, as the vendor counts them.
public struct TokenUsage: Sendable, Equatable {
    /// Text, without what was cached.
    public var input = 0
    /// Text and sound that the vendor had kept from before.
    public var cachedInput = 0
    public var output = 0
    public var audioInput = 0
    public var audioOutput = 0
    /// The vendor did not report them; they are estimated from the length of the text.
    public var isEstimated = false
    public init(
        input: Int = 0, cachedInput: Int = 0, output: Int = 0, audioInput: Int = 0, audioOutput: Int = 0,
        isEstimated: Bool = false
    ) {
        self.input = input
        self.cachedInput = cachedInput
        self.output = output
        self.audioInput = audioInput
        self.audioOutput = audioOutput
        self.isEstimated = isEstimated
    }
}

/// What one call has used of one component, e.g. `speech-to-text/deepgram`.
public struct ComponentUsage: Sendable, Equatable, Codable {
    public var component: String
    public var quantities: [UsageUnit: Int]
    /// A part of it is estimated, not reported by the vendor.
    public var isEstimated: Bool
    public init(component: String, quantities: [UsageUnit: Int], isEstimated: Bool = false) {
        self.component = component
        self.quantities = quantities
        self.isEstimated = isEstimated
    }

    /// What was used in two parts of a call.
    public static func joined(_ a: [ComponentUsage], _ b: [ComponentUsage]) -> [ComponentUsage] {
        var result = Dictionary(a.map { ($0.component, $0) }) { first, _ in first }
        for used in b {
            guard var known = result[used.component] else {
                result[used.component] = used
                continue
            }
            known.quantities.merge(used.quantities) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 }
            known.isEstimated = known.isEstimated || used.isEstimated
            result[used.component] = known
        }
        return result.values.sorted { $0.component < $1.component }
    }
}

/// Counts what one call uses. Engines report from several threads, but rarely: once a turn, sentence or response.
public final class UsageMeter: Sendable {
    /// Kinds of which one engine is in use at a time.
    public enum Kind: String, Sendable {
        case speechToText = "speech-to-text"
        case textToSpeech = "text-to-speech"
    }

    /// Components of one call.
    private static let componentLimit = 64
    /// A vendor's count beyond this is ignored.
    private static let quantityLimit = 1 << 40

    private struct State {
        var components: [String: ComponentUsage] = [:]
        var current: [Kind: String] = [:]
    }
    private let state = Mutex(State())

    public init() {}

    /// This engine is the one of its kind from now on.
    public func use(_ kind: Kind, _ component: String) { state.withLock { $0.current[kind] = component } }

    /// Counts for the engine that is in use; the embedded one where none was named.
    public func add(_ kind: Kind, _ unit: UsageUnit, _ quantity: Int) {
        state.withLock {
            Self.add($0.current[kind] ?? kind.rawValue + "/embedded", [(unit, quantity)], isEstimated: false, to: &$0)
        }
    }

    public func add(_ component: String, _ unit: UsageUnit, _ quantity: Int) {
        state.withLock { Self.add(component, [(unit, quantity)], isEstimated: false, to: &$0) }
    }

    public func add(_ component: String, _ tokens: TokenUsage) {
        let quantities: [(UsageUnit, Int)] = [
            (.inputTokens, tokens.input), (.cachedInputTokens, tokens.cachedInput), (.outputTokens, tokens.output),
            (.audioInputTokens, tokens.audioInput), (.audioOutputTokens, tokens.audioOutput),
        ]
        state.withLock { Self.add(component, quantities, isEstimated: tokens.isEstimated, to: &$0) }
    }

    private static func add(
        _ component: String, _ quantities: [(UsageUnit, Int)], isEstimated: Bool, to state: inout State
    ) {
        guard state.components[component] != nil || state.components.count < componentLimit else { return }
        var usage = state.components[component] ?? ComponentUsage(component: component, quantities: [:])
        for (unit, quantity) in quantities where quantity > 0 {
            usage.quantities[unit] = min(
                quantityLimit, usage.quantities[unit, default: 0] + min(quantity, quantityLimit))
        }
        usage.isEstimated = usage.isEstimated || isEstimated
        if !usage.quantities.isEmpty { state.components[component] = usage }
    }

    /// What has been used so far, by component.
    public var usage: [ComponentUsage] {
        state.withLock { $0.components.values.sorted { $0.component < $1.component } }
    }
}
