public import Foundation
public import Realtime

/// What one unit of a component costs.
public struct Price: Sendable, Equatable {
    /// The quantity that is charged for.
    public enum Unit: String, Sendable, CaseIterable {
        /// By the millisecond, told by the minute.
        case minute
        /// Every minute that was begun.
        case startedMinute = "started_minute"
        case thousandCharacters = "1k_characters"
        case millionInputTokens = "1m_input_tokens"
        case millionCachedInputTokens = "1m_cached_input_tokens"
        case millionOutputTokens = "1m_output_tokens"
        case millionAudioInputTokens = "1m_audio_input_tokens"
        case millionAudioOutputTokens = "1m_audio_output_tokens"

        var counted: UsageUnit {
            switch self {
            case .minute, .startedMinute: .milliseconds
            case .thousandCharacters: .characters
            case .millionInputTokens: .inputTokens
            case .millionCachedInputTokens: .cachedInputTokens
            case .millionOutputTokens: .outputTokens
            case .millionAudioInputTokens: .audioInputTokens
            case .millionAudioOutputTokens: .audioOutputTokens
            }
        }

        /// So much of what is counted, in this unit.
        func quantity(_ count: Int) -> Decimal {
            switch self {
            case .minute: Decimal(count) / 60_000
            case .startedMinute: Decimal((count + 59_999) / 60_000)
            case .thousandCharacters: Decimal(count) / 1_000
            default: Decimal(count) / 1_000_000
            }
        }
    }

    /// `telephony/sip`, `language-model/openai`, …
    public var component: String
    public var unit: Unit
    public var amount: Decimal

    /// Digits of an amount.
    private static let amountLimit = 18

    /// Reads `COMPONENT UNIT AMOUNT`, e.g. `telephony/sip minute 0.012`; nil: it is something else.
    public init?(_ text: String) {
        let parts = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard parts.count == 3, parts[0].contains("/"), let unit = Unit(rawValue: parts[1]),
            parts[2].count <= Self.amountLimit,
            parts[2].allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
            parts[2].count(where: { $0 == "." }) <= 1,
            parts[2].contains(where: \.isNumber),
            let amount = Decimal(string: parts[2], locale: Locale(identifier: "en_US_POSIX"))
        else { return nil }
        component = parts[0]
        self.unit = unit
        self.amount = amount
    }
}

/// What things cost; by configuration.
public struct PriceList: Sendable, Equatable {
    /// ISO 4217.
    public var currency = "USD"
    public var prices: [Price] = []
    public init() {}

    /// Decimal places of an amount.
    private static let places = 6

    /// What a call cost. A component without a price is unknown, and so is the whole then; nothing is taken for free.
    public func cost(of usage: [ComponentUsage]) -> Cost {
        var cost = Cost(currency: currency, components: [])
        for used in usage { cost.components.append(item(used)) }
        var total = Decimal(0), known = Decimal(0)
        var isComplete = !cost.components.isEmpty
        for component in cost.components {
            guard let amount = component.amount.flatMap({ Decimal(string: $0) }) else {
                isComplete = false
                continue
            }
            total += amount
            known += amount
        }
        cost.total = isComplete ? Self.text(total) : nil
        cost.known = Self.text(known)
        return cost
    }

    private func item(_ used: ComponentUsage) -> Cost.Component {
        let mine = prices.filter { $0.component == used.component }
        // A component with a price for time is not charged for anything else.
        let byTime = mine.first { $0.unit.counted == .milliseconds }
        var lines: [Cost.Line] = []
        var sum = Decimal(0)
        var isKnown = true
        for unit in UsageUnit.allCases {
            guard let count = used.quantities[unit] else { continue }
            if byTime != nil, unit != .milliseconds { continue }
            // What a vendor had kept costs no more than what it had not.
            let price =
                mine.first { $0.unit.counted == unit }
                ?? (unit == .cachedInputTokens ? mine.first { $0.unit == .millionInputTokens } : nil)
            // The time of an engine that is paid by tokens or characters is told, and costs nothing.
            if price == nil, unit == .milliseconds, used.quantities.count > 1, !mine.isEmpty {
                lines.append(Cost.Line(unit: unit.rawValue, quantity: String(count), price: nil, amount: nil))
                continue
            }
            guard let price else {
                isKnown = false
                lines.append(Cost.Line(unit: unit.rawValue, quantity: String(count), price: nil, amount: nil))
                continue
            }
            let quantity = price.unit.quantity(count)
            let amount = quantity * price.amount
            sum += amount
            lines.append(
                Cost.Line(
                    unit: price.unit.rawValue, quantity: Self.text(quantity), price: Self.text(price.amount),
                    amount: Self.text(amount)))
        }
        return Cost.Component(
            name: used.component, lines: lines, isEstimated: used.isEstimated, amount: isKnown ? Self.text(sum) : nil)
    }

    static func text(_ value: Decimal) -> String {
        var value = value, rounded = Decimal()
        NSDecimalRound(&rounded, &value, places, .plain)
        return "\(rounded)"
    }
}

/// What a call cost, by component. Amounts are decimals as text: no binary fraction comes near them.
public struct Cost: Sendable, Equatable, Codable {
    public struct Line: Sendable, Equatable, Codable {
        /// The charged quantities; without a price, the counted ones.
        public var unit: String
        public var quantity: String
        public var price: String?
        public var amount: String?
    }
    public struct Component: Sendable, Equatable, Codable {
        public var name: String
        public var lines: [Line]
        public var isEstimated: Bool
        /// nil: unknown.
        public var amount: String?
    }
    public var currency: String
    public var components: [Component]
    /// nil: unknown, for some component has no price.
    public var total: String?
    /// Of the components that have one.
    public var known = "0"
}
