internal import Foundation

/// How a setting's value is written: reads and checks text, and writes it.
public struct SettingForm<Value>: Sendable {
    /// Values that may be given, with their unit.
    public let allowed: String
    let parse: @Sendable (String) throws -> Value
    /// nil: there is nothing to write.
    let format: @Sendable (Value) -> String?

    /// - Parameter parse: throws a `ConfigurationError` that goes on from the setting's name: "must be …".
    public init(
        _ allowed: String, format: @escaping @Sendable (Value) -> String? = { _ in nil },
        parse: @escaping @Sendable (String) throws -> Value
    ) {
        self.allowed = allowed
        self.parse = parse
        self.format = format
    }

    /// - Parameters:
    ///   - problem: of text that `parse` cannot read, e.g. "must be a BCP 47 tag".
    ///   - parse: nil where the text is wrong.
    public init(
        _ allowed: String, problem: String, format: @escaping @Sendable (Value) -> String? = { _ in nil },
        parse: @escaping @Sendable (String) -> Value?
    ) {
        self.init(allowed, format: format) { text in
            guard let value = parse(text) else { throw ConfigurationError(problem) }
            return value
        }
    }

    /// Reads one value, for forms that are made of others.
    public func read(_ text: String) throws -> Value { try parse(text) }

    /// As `value` would be written; nil: there is nothing to write.
    public func written(_ value: Value) -> String? { format(value) }

    /// The same text for another type.
    public func mapped<Other>(
        _ to: @escaping @Sendable (Value) -> Other, back: @escaping @Sendable (Other) -> Value
    ) -> SettingForm<Other> {
        SettingForm<Other>(allowed, format: { [format] in format(back($0)) }, parse: { [parse] in to(try parse($0)) })
    }

    /// The word `none` stands for nil: for values that have a default, and can be done without.
    public static func orNone<Wrapped>(_ form: SettingForm<Wrapped>) -> SettingForm where Value == Wrapped? {
        SettingForm(
            form.allowed + ", or none", format: { $0.map(form.format) ?? "none" },
            parse: { $0 == "none" ? nil : try form.parse($0) })
    }
}

/// Units of numbers.
public enum SettingUnit: String, Sendable {
    case seconds = "s"
    case milliseconds = "ms"
    case days
    case mebibytes = "MiB"
}

// MARK: Text

extension SettingForm where Value == String {
    public static var text: SettingForm { SettingForm("text", format: { $0 }) { $0 } }

    /// Without a slash at its end.
    public static var webURL: SettingForm {
        SettingForm("https:// URL", problem: "must be an https:// URL without a query", format: { $0 }) { text in
            guard text.hasPrefix("https://") || text.hasPrefix("http://"), !text.contains("?") else { return nil }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
    }
}

// MARK: Numbers

extension SettingForm where Value: FixedWidthInteger & Sendable {
    /// A whole number within bounds.
    public static func whole(_ range: ClosedRange<Value>, _ unit: SettingUnit? = nil) -> SettingForm {
        SettingForm(
            bounds("\(range.lowerBound)", "\(range.upperBound)", unit), format: { "\($0)" },
            parse: { text in
                guard let value = Value(text), range.contains(value) else {
                    throw ConfigurationError(
                        "must be a whole number in \(range.lowerBound)…\(range.upperBound), not \(text)")
                }
                return value
            })
    }
}

extension SettingForm where Value == UInt16 {
    public static var port: SettingForm {
        SettingForm("0…65535", format: { "\($0)" }) { text in
            guard let value = UInt16(text) else { throw ConfigurationError("must be a port, 0…65535, not \(text)") }
            return value
        }
    }
}

extension SettingForm where Value: BinaryFloatingPoint & LosslessStringConvertible & Sendable {
    /// A number within bounds.
    public static func decimal(_ range: ClosedRange<Value>, _ unit: SettingUnit? = nil) -> SettingForm {
        let (lowest, highest) = (short(range.lowerBound), short(range.upperBound))
        return SettingForm(
            bounds(lowest, highest, unit), format: { short($0) },
            parse: { text in
                guard let value = Value(text), range.contains(value) else {
                    throw ConfigurationError("must be a number in \(lowest)…\(highest), not \(text)")
                }
                return value
            })
    }

    /// A whole number within bounds, for a property that could have parts of it.
    public static func whole(_ range: ClosedRange<Int>, _ unit: SettingUnit? = nil) -> SettingForm {
        let form = SettingForm<Int>.whole(range, unit)
        return SettingForm(form.allowed, format: { short($0) }, parse: { Value(try form.parse($0)) })
    }
}

/// Without `.0` at the end.
private func short(_ value: some LosslessStringConvertible) -> String {
    let text = value.description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
}

private func bounds(_ lowest: String, _ highest: String, _ unit: SettingUnit?) -> String {
    "\(lowest)…\(highest)" + (unit.map { " " + $0.rawValue } ?? "")
}

extension SettingForm where Value == Bool {
    public static var flag: SettingForm {
        SettingForm("true or false", format: { $0 ? "true" : "false" }) { text in
            switch text.lowercased() {
            case "true", "yes", "on", "1": return true
            case "false", "no", "off", "0": return false
            default: throw ConfigurationError("must be true or false, not \(text)")
            }
        }
    }
}

// MARK: One of several

extension SettingForm where Value: Equatable & Sendable {
    /// A word for each value.
    public static func oneOf(_ words: [(word: String, value: Value)]) -> SettingForm {
        let allowed = either(words.map(\.word))
        return SettingForm(
            allowed, format: { value in words.first { $0.value == value }?.word },
            parse: { text in
                guard let found = words.first(where: { $0.word == text }) else {
                    throw ConfigurationError("must be \(allowed), not \(text)")
                }
                return found.value
            })
    }
}

extension SettingForm where Value: RawRepresentable<String> & CaseIterable & Equatable & Sendable {
    /// A case by its raw value.
    public static var choice: SettingForm { oneOf(Value.allCases.map { ($0.rawValue, $0) }) }
}

/// `a, b or c`.
private func either(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
}

// MARK: Several

/// Texts between commas.
public func commaSeparated(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
}

extension SettingForm where Value == [String] {
    public static var list: SettingForm {
        SettingForm("texts, comma-separated", format: { joined($0) }, parse: { commaSeparated($0) })
    }

    /// Names out of those that are known, at least one, in an order that matters.
    public static func names(of known: [String]) -> SettingForm {
        let list = known.joined(separator: ", ")
        return SettingForm(
            list + "; best first, comma-separated", format: { joined($0) },
            parse: { text in
                let names = commaSeparated(text)
                for name in names where !known.contains(name) {
                    throw ConfigurationError("\(name) is none of: \(list)")
                }
                guard !names.isEmpty else { throw ConfigurationError("must name at least one of: \(list)") }
                return names
            })
    }
}

extension SettingForm {
    /// Values between commas. What is wrong with one is told with its text: not for secrets.
    public static func list<Element: Sendable>(of form: SettingForm<Element>) -> SettingForm where Value == [Element] {
        SettingForm(
            form.allowed + ", comma-separated", format: { joined($0.compactMap(form.format)) },
            parse: { text in
                try commaSeparated(text).map { item in
                    do { return try form.parse(item) } catch { throw ConfigurationError("\(item) \(error)") }
                }
            })
    }

    /// Some of these, between commas.
    public static func set<Element: RawRepresentable<String> & Hashable & Sendable>(of known: [Element]) -> SettingForm
    where Value == Set<Element> {
        let list = known.map(\.rawValue).joined(separator: ", ")
        return SettingForm(
            list + "; comma-separated",
            format: { value in joined(known.filter(value.contains).map(\.rawValue)) },
            parse: { text in
                Set(
                    try commaSeparated(text).map { name in
                        guard let element = known.first(where: { $0.rawValue == name }) else {
                            throw ConfigurationError("\(name) is none of \(list)")
                        }
                        return element
                    })
            })
    }
}

private func joined(_ items: [String]) -> String? { items.isEmpty ? nil : items.joined(separator: ",") }
